#include "transports/tcp/handle.h"

#include <sys/random.h>

#include <algorithm>

#include "transports/tcp/wire.h"

namespace thinwire::transports::tcp {

namespace {

enum Offset : std::size_t {
  kMagicAt = 0,
  kVersionAt = 4,
  kTransportAt = 6,
  kHostHashAt = 8,
  kTokenAt = 16,
  kFamilyAt = 32,
  kPortAt = 34,
  kScopeAt = 36,
  kAddressAt = 40,
  kHostNameAt = 56,
};
static_assert(kHostNameAt + kMaxHostNameBytes <= kHandleBytes - 4);

}  // namespace

Token random_token() {
  Token token{};
  std::size_t filled = 0;
  while (filled < token.size()) {
    const ssize_t got = ::getrandom(token.data() + filled, token.size() - filled, 0);
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return token;
}

Handle encode_handle(const HandleInfo& info) {
  Handle handle;
  const std::span<std::byte> out = handle.bytes;
  put(out, kMagicAt, kHandleMagic);
  put(out, kVersionAt, kFormatVersion);
  put(out, kTransportAt, kTransportNumber);
  put(out, kHostHashAt, info.host_hash);
  put(out, kTokenAt, info.token);
  put(out, kFamilyAt, info.address.family);
  put(out, kPortAt, info.address.port);
  put(out, kScopeAt, info.address.scope_id);
  put(out, kAddressAt, info.address.bytes);
  std::memcpy(out.data() + kHostNameAt, info.host_name.data(),
              std::min(info.host_name.size(), kMaxHostNameBytes));
  seal(out);
  return handle;
}

Result<HandleInfo> decode_handle(const Handle& handle) {
  const std::span<const std::byte> in = handle.bytes;
  if (get<std::uint32_t>(in, kMagicAt) != kHandleMagic ||
      get<std::uint16_t>(in, kTransportAt) != kTransportNumber) {
    return Status(Code::invalid_argument, "not a handle of Thinwire's TCP transport");
  }
  if (get<std::uint16_t>(in, kVersionAt) != kFormatVersion) {
    return Status(Code::peer_lost, "the peer's Thinwire speaks another version of the TCP format",
                  get<std::uint16_t>(in, kVersionAt));
  }
  if (!is_sealed(in)) return Status(Code::invalid_argument, "the TCP handle is damaged");
  HandleInfo info;
  info.host_hash = get<std::uint64_t>(in, kHostHashAt);
  info.token = get<Token>(in, kTokenAt);
  const auto family = get<std::uint16_t>(in, kFamilyAt);
  if (family != 4 && family != 6) {
    return Status(Code::invalid_argument, "the TCP handle holds no address");
  }
  info.address.family = static_cast<SocketAddress::Family>(family);
  info.address.port = get<std::uint16_t>(in, kPortAt);
  info.address.scope_id = get<std::uint32_t>(in, kScopeAt);
  info.address.bytes = get<std::array<std::byte, 16>>(in, kAddressAt);
  const char* name = reinterpret_cast<const char*>(in.data() + kHostNameAt);
  info.host_name.assign(name, ::strnlen(name, kMaxHostNameBytes));
  return info;
}

}  // namespace thinwire::transports::tcp
