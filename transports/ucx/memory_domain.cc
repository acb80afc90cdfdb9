#include "transports/ucx/memory_domain.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace thinwire::transports::ucx {

std::uint64_t memory_domain(std::string_view hostid) {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  for (const char* space : {"/proc/self/ns/ipc", "/proc/self/ns/mnt", "/proc/self/ns/pid"}) {
    struct stat status {};
    text += ' ' + std::to_string(::stat(space, &status) == 0 ? status.st_ino : 0);
  }
  text.append(" ").append(hostid);
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace thinwire::transports::ucx
