#include "base/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fnv.h"

namespace thinwire {
namespace {

// Empty: /proc is not there.
std::string boot_and_network() {
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  struct stat network {};
  if (boot_id.empty() || ::stat("/proc/self/ns/net", &network) != 0) return "";
  return boot_id + "\n" + std::to_string(network.st_ino);
}

}  // namespace

HostIdentity host_identity(std::string_view hostid) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  if (!hostid.empty()) return {fnv1a(hostid), std::string(name) + "/" + std::string(hostid)};
  return {fnv1a(boot_and_network() + "\n" + name), name};
}

std::uint64_t local_reach() {
  const std::string place = boot_and_network();
  return place.empty() ? 0 : fnv1a(place);
}

}  // namespace thinwire
