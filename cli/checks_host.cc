#include <algorithm>
#include <sstream>

#include "cli/checks.h"

namespace thinwire::cli {
namespace {

constexpr std::uint64_t kWantedOpenFiles = 8192;
// Round-trip time of a data centre's longer paths: what a socket buffer has to bridge.
constexpr std::int64_t kRoundTripUs = 500;

bool holds_word(const std::string& words, const std::string& wanted) {
  std::istringstream stream(words);
  std::string word;
  while (stream >> word) {
    if (word == wanted) return true;
  }
  return false;
}

int fastest_mbps(const Facts& facts) {
  int fastest = 0;
  for (const TransportFacts& transport : facts.transports) {
    for (const NicInfo& nic : transport.devices) fastest = std::max(fastest, nic.speed_mbps);
  }
  return fastest;
}

std::string describe(const NicInfo& nic) {
  std::string text = nic.name + ", " + std::to_string(nic.speed_mbps) + " Mbit/s";
  if (nic.numa_node >= 0) text += ", NUMA node " + std::to_string(nic.numa_node);
  if (!nic.reason.empty()) text += ": " + nic.reason;
  return text;
}

}  // namespace

void check_config(const Facts& facts, Findings& out) {
  for (const std::string& sentence : facts.unknown) {
    out.push_back({Verdict::warn, "settings", sentence, "correct or remove it"});
  }
  if (facts.config && !facts.has_places) {
    out.push_back(
        {Verdict::fail, "settings", "a file they name is unusable: communicators will not start",
         "correct THINWIRE_CLUSTER_FILE, THINWIRE_HWLOC_XML or THINWIRE_TUNING_FILE as the "
         "messages above say; docs/topology.md and docs/scaling.md have the formats"});
    return;
  }
  if (facts.config) {
    out.push_back({Verdict::ok, "settings", "valid", ""});
    return;
  }
  out.push_back({Verdict::fail, "settings", "invalid: communicators will not start",
                 "correct what the messages above name; docs/configuration.md has every setting"});
}

void check_interfaces(const Facts& facts, Findings& out) {
  for (const TransportFacts& transport : facts.transports) {
    if (!transport.chosen) continue;
    if (transport.devices.empty()) {
      out.push_back({Verdict::fail, transport.name, transport.error,
                     transport.name == "tcp"
                         ? "set NCCL_SOCKET_IFNAME to an interface that is up and has an address"
                         : "install it on every host, or unset THINWIRE_TRANSPORT"});
    }
    for (const NicInfo& nic : transport.devices) {
      const bool loopback = nic.name == "lo";
      out.push_back({loopback ? Verdict::warn : Verdict::ok, transport.name, describe(nic),
                     loopback ? "loopback reaches this host only: set NCCL_SOCKET_IFNAME" : ""});
    }
  }
}

void check_open_files(const Facts& facts, Findings& out) {
  const std::string text = std::to_string(facts.host.open_files) + " open files allowed";
  if (facts.host.open_files >= kWantedOpenFiles) {
    out.push_back({Verdict::ok, "open files", text, ""});
    return;
  }
  out.push_back({Verdict::warn, "open files",
                 text + "; every connection takes one socket per stream",
                 "raise it for large jobs: ulimit -n 65536, LimitNOFILE= of the job's service, or "
                 "--ulimit nofile= of the container"});
}

void check_congestion(const Facts& facts, Findings& out) {
  const std::string wanted = facts.config ? facts.config->config.tcp_congestion : "";
  const std::string effective = wanted.empty() ? facts.host.congestion : wanted;
  if (!wanted.empty() && !holds_word(facts.host.available_congestion, wanted)) {
    out.push_back({Verdict::warn, "congestion",
                   "THINWIRE_TCP_CONGESTION=" + wanted +
                       " is not available and not used; there is " +
                       facts.host.available_congestion,
                   "modprobe tcp_" + wanted + ", or choose another"});
    return;
  }
  if (effective == "bbr") {
    out.push_back({Verdict::warn, "congestion",
                   "bbr paces every socket and is often slower inside a data centre",
                   "compare with THINWIRE_TCP_CONGESTION=cubic using sendrecv_perf"});
    return;
  }
  out.push_back({Verdict::ok, "congestion", effective.empty() ? "unknown" : effective, ""});
}

void check_buffers(const Facts& facts, Findings& out) {
  const HostFacts& host = facts.host;
  const std::int64_t fixed = facts.config ? facts.config->config.tcp_socket_buffer_bytes : 0;
  if (fixed > 0) {
    const std::int64_t cap = std::min(host.core_receive_max_bytes, host.core_send_max_bytes);
    const bool fits = fixed <= cap;
    out.push_back({fits ? Verdict::ok : Verdict::warn, "buffers",
                   "THINWIRE_TCP_SOCKET_BUFFER_BYTES=" + std::to_string(fixed) +
                       ", the kernel grants at most " + std::to_string(cap),
                   fits ? "" : "raise net.core.rmem_max and net.core.wmem_max, or leave it at 0"});
    return;
  }
  const std::int64_t automatic = std::min(host.tcp_receive_max_bytes, host.tcp_send_max_bytes);
  const std::int64_t wanted = std::int64_t{fastest_mbps(facts)} * kRoundTripUs / 8;
  const std::string text = "sockets grow to " + std::to_string(automatic) + " bytes";
  if (automatic >= wanted) {
    out.push_back({Verdict::ok, "buffers", text, ""});
    return;
  }
  out.push_back({Verdict::warn, "buffers",
                 text + "; this link wants " + std::to_string(wanted) + " for one stream",
                 "raise the third number of net.ipv4.tcp_rmem and net.ipv4.tcp_wmem"});
}

}  // namespace thinwire::cli
