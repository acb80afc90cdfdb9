// A bounded, reproducible run of the decoders' fuzzer: the corpus, and mutations of sound frames.

#include "tests/fuzz/decode_frame.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace thinwire::fuzz {
namespace {

using Input = std::vector<std::uint8_t>;
using Random = std::mt19937;

std::vector<Input> corpus() {
  std::vector<Input> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(THINWIRE_FUZZ_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void mutate(Input& input, Random& random) {
  const auto any = [&] { return input.empty() ? 0 : random() % input.size(); };
  // Codes, block headers and escapes are where a frame can lie: near its ends.
  const auto near = [&] {
    const std::size_t reach = random() % 64;
    if (input.size() <= reach) return any();
    return random() % 2 == 0 ? reach : input.size() - 1 - reach;
  };
  switch (random() % 6) {
    case 0:
      if (!input.empty()) input[any()] = static_cast<std::uint8_t>(random());
      break;
    case 1:
      if (!input.empty()) input[near()] ^= static_cast<std::uint8_t>(1u << random() % 8);
      break;
    case 2:
      if (!input.empty()) input[near()] = random() % 2 == 0 ? 0xff : 0;
      break;
    case 3:
      input.resize(any());
      break;
    case 4:
      for (std::size_t n = random() % 16; n != 0; --n) {
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(any()),
                     static_cast<std::uint8_t>(random()));
      }
      break;
    default: {
      const std::size_t from = any(), to = std::min(input.size(), from + random() % 32);
      input.erase(input.begin() + static_cast<std::ptrdiff_t>(from),
                  input.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
}

TEST(DecodeFuzz, Corpus_IsDecodedOrRefused) {
  const auto inputs = corpus();
  ASSERT_GE(inputs.size(), codec_texts().size());
  std::size_t fine = 0;
  for (const Input& input : inputs) {
    fine += decode_frame(input) ? 1 : 0;
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
  EXPECT_GE(fine, codec_texts().size());  // the sound ones
  EXPECT_LT(fine, inputs.size());         // and others
}

TEST(DecodeFuzz, SoundFrames_AreDecoded) {
  for (std::size_t which = 0; which < codec_texts().size(); ++which) {
    for (const std::size_t count : {0, 1, 255, 256, 1000, 40000}) {
      EXPECT_TRUE(decode_frame(sound_input(which, count, 1))) << codec_texts()[which];
    }
  }
}

TEST(DecodeFuzz, MutatedFrames_AreDecodedOrRefused) {
  Random random(2026);
  std::size_t fine = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t count = random() % 8 == 0 ? random() % 3000 : random() % 300;
    Input input = sound_input(random() % codec_texts().size(), count, random() % 64);
    for (std::size_t n = 1 + random() % 4; n != 0; --n) mutate(input, random);
    ++(decode_frame(input) ? fine : refused);
  }
  EXPECT_GT(fine, 1000u);  // damage that no frame can notice: payloads
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace thinwire::fuzz
