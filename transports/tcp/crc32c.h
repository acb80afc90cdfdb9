// CRC32C (Castagnoli, RFC 3720 appendix B.4) of headers and, on request, payloads.
// Pure; any thread. Uses the processor's instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinwire::transports::tcp {

// The checksum of `bytes`, continuing from `previous` (0 to start).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);

// The table-driven form that crc32c() falls back to; equal results.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous = 0);

}  // namespace thinwire::transports::tcp
