// What a TCP listener tells its peers: docs/wire_format.md, "Handle". Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "transports/tcp/socket.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

inline constexpr std::uint16_t kFormatVersion = 1;  // of handles, introductions and frames
inline constexpr std::uint16_t kTransportNumber = 1;
inline constexpr std::size_t kMaxHostNameBytes = 60;

using Token = std::array<std::byte, 16>;

// 128 random bits from the kernel.
Token random_token();

struct HandleInfo {
  std::uint64_t host_hash = 0;
  std::string host_name;
  SocketAddress address;
  Token token{};
};

Handle encode_handle(const HandleInfo& info);

// Code::invalid_argument: not a handle of this transport. Code::peer_lost: of another version.
Result<HandleInfo> decode_handle(const Handle& handle);

}  // namespace thinwire::transports::tcp
