#include "transports/tcp/handle.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

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

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

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

HostIdentity host_identity(std::string_view hostid) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  if (!hostid.empty()) return {fnv1a(hostid), std::string(name) + "/" + std::string(hostid)};
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  struct stat network {};
  const bool known = ::stat("/proc/self/ns/net", &network) == 0;
  return {fnv1a(boot_id + "\n" + name + "\n" + std::to_string(known ? network.st_ino : 0)), name};
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
