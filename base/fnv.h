// FNV-1a, 64 bits: a hash of texts that is the same in every process. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace thinwire {

inline std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace thinwire
