#include "tests/fuzz/decode_frame.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "compression/codec.h"
#include "compression/exact_frame.h"

namespace thinwire::fuzz {
namespace {

using compression::Codec;

constexpr const char* kTexts[] = {"fp16",     "bf16",      "int8",          "int4", "fp8-e4m3",
                                  "fp8-e5m2", "topk:0.01", "topk:0.3:fp16", "none"};
constexpr std::size_t kHeaderBytes = 3;
constexpr std::size_t kGuards = 8;
constexpr float kGuard = 12345.5f;

// Among what is compressed, what is not travels in frames too.
const Codec& codec_at(std::size_t which) {
  static const auto made = [] {
    std::vector<std::unique_ptr<const Codec>> codecs;
    for (const char* const text : kTexts) {
      codecs.push_back(compression::make_codec(compression::parse_codec(text).value()));
    }
    return codecs;
  }();
  const Codec& codec = *made[which % made.size()];
  return codec.lossy() ? codec : compression::exact_frames();
}

void expect(bool fine) {
  if (!fine) std::abort();
}

bool is_fine(Status status) {
  expect(status.ok() || status.code() == Code::peer_lost);
  return status.ok();
}

// Floats with guards behind them, of which the first `count` may be written.
class Output {
 public:
  explicit Output(std::size_t count) : count_(count), floats_(count + kGuards, kGuard) {}
  ~Output() {
    for (std::size_t i = count_; i < floats_.size(); ++i) expect(floats_[i] == kGuard);
  }
  float* data() { return floats_.data(); }

 private:
  std::size_t count_;
  std::vector<float> floats_;
};

}  // namespace

std::span<const char* const> codec_texts() { return kTexts; }

bool decode_frame(std::span<const std::uint8_t> data) {
  if (data.size() < kHeaderBytes) return false;
  const Codec& codec = codec_at(data[0]);
  const std::size_t count = data[1] | static_cast<std::size_t>(data[2]) << 8;
  // At the very end of its allocation, so that a sanitizer sees any read past it.
  const std::size_t bytes = data.size() - kHeaderBytes;
  const auto frame = std::make_unique<std::byte[]>(bytes);
  if (bytes != 0) std::memcpy(frame.get(), data.data() + kHeaderBytes, bytes);
  Output wide(count), sum(count), narrow((count + 1) / 2);
  const bool fine =
      is_fine(codec.decode(frame.get(), bytes, DataType::float32, count, wide.data()));
  const auto named = compression::codec_of_frame(frame.get(), bytes);
  expect(!fine || count == 0 || (named.ok() && named.value() == codec.id()));
  expect(fine == is_fine(codec.decode_add(frame.get(), bytes, count, sum.data())));
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    expect(fine == is_fine(codec.decode(frame.get(), bytes, type, count, narrow.data())));
  }
  return fine;
}

std::vector<std::uint8_t> sound_input(std::size_t which, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float& v : x) {
    v = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
    if (random() % 100 == 0) v *= 1e12f;
    if (random() % 400 == 0) v = std::numeric_limits<float>::quiet_NaN();
  }
  const Codec& codec = codec_at(which);
  std::vector<std::uint8_t> input(kHeaderBytes + codec.max_encoded_bytes(count, DataType::float32));
  input[0] = static_cast<std::uint8_t>(which);
  input[1] = static_cast<std::uint8_t>(count);
  input[2] = static_cast<std::uint8_t>(count >> 8);
  auto* const wire = reinterpret_cast<std::byte*>(input.data() + kHeaderBytes);
  input.resize(kHeaderBytes + codec.encode(x.data(), DataType::float32, count, wire));
  return input;
}

}  // namespace thinwire::fuzz
