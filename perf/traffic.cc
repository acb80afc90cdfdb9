#include "perf/traffic.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace thinwire::perf {
namespace {

std::optional<double> interface_bytes(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
  std::ifstream file("/sys/class/net/" + name + "/statistics/tx_bytes");
  double bytes = 0;
  if (!(file >> bytes)) return std::nullopt;
  return bytes;
}

// Equal for the ranks that see the same interface: host name and network namespace.
std::string place_of(const std::string& interface) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  struct stat info {};
  stat("/proc/self/ns/net", &info);
  return std::string(host) + " " + std::to_string(info.st_ino) + " " + interface;
}

}  // namespace

TrafficMeter::TrafficMeter(const Runner& runner, Session& session)
    : runner_(runner), interface_(runner.interface()) {
  const std::string place = place_of(interface_);
  const auto places = session.all_gather(place);
  sharing_ = static_cast<int>(std::count(places.begin(), places.end(), place));
  if (runner_.bytes_sent()) {
    source_ = "plugin";
  } else if (interface_bytes(interface_)) {
    source_ = "interface";
  }
}

std::optional<double> TrafficMeter::total() const {
  if (const auto bytes = runner_.bytes_sent()) return static_cast<double>(*bytes);
  const auto bytes = interface_bytes(interface_);
  if (!bytes) return std::nullopt;
  return *bytes / sharing_;
}

}  // namespace thinwire::perf
