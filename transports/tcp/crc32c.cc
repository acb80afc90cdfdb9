#include "transports/tcp/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace thinwire::transports::tcp {

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr auto kTable = make_table();

#if defined(__x86_64__)
bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(std::span<const std::byte> bytes,
                                                                   std::uint32_t state) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = state;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  state = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) state = _mm_crc32_u8(state, static_cast<std::uint8_t>(*at));
  return state;
}
#elif defined(__aarch64__)
bool has_instruction() { return (getauxval(AT_HWCAP) & (1UL << 7)) != 0; }  // HWCAP_CRC32

__attribute__((target("+crc"))) std::uint32_t crc32c_instruction(std::span<const std::byte> bytes,
                                                                 std::uint32_t state) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = __crc32cd(state, word);
  }
  for (; left > 0; ++at, --left) state = __crc32cb(state, static_cast<std::uint8_t>(*at));
  return state;
}
#else
bool has_instruction() { return false; }
std::uint32_t crc32c_instruction(std::span<const std::byte>, std::uint32_t state) { return state; }
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  for (const std::byte byte : bytes) {
    state = (state >> 8) ^ kTable[(state ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  }
  return ~state;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  static const bool fast = has_instruction();
  return fast ? ~crc32c_instruction(bytes, ~previous) : crc32c_portable(bytes, previous);
}

}  // namespace thinwire::transports::tcp
