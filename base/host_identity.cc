#include "base/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace thinwire {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace

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

}  // namespace thinwire
