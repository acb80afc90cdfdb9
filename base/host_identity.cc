#include "base/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fnv.h"

namespace thinwire {

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
