// Fixed-offset little-endian fields of handles, introductions and frames.
// Pure; any thread. Callers keep offsets inside the span.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transports/tcp/crc32c.h"

namespace thinwire::transports::tcp {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

template <class T>
void put(std::span<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The last four bytes hold the CRC32C of all before them.
inline void seal(std::span<std::byte> bytes) {
  put(bytes, bytes.size() - 4, crc32c(bytes.first(bytes.size() - 4)));
}
inline bool is_sealed(std::span<const std::byte> bytes) {
  return get<std::uint32_t>(bytes, bytes.size() - 4) == crc32c(bytes.first(bytes.size() - 4));
}

}  // namespace thinwire::transports::tcp
