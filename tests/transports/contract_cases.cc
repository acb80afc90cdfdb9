#include "tests/transports/contract.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::transports::contract {

Case memory_case();             // contract_memory.cc
std::vector<Case> shm_cases();  // contract_shm.cc

namespace {

// Small chunks and windows, so that small messages reach beyond them.
Config small_config() {
  Config config;
  config.tcp_chunk_bytes = 16 * 1024;
  config.tcp_window_bytes = 512 * 1024;
  config.socket_ifname = "=lo";
  config.socket_family = AddressFamily::ipv4;
  return config;
}

Config with(void (*change)(Config&)) {
  Config config = small_config();
  change(config);
  return config;
}

std::unique_ptr<Transport> make_tcp(const Config& config, const Log& log, const Clock& clock) {
  return std::make_unique<tcp::TcpTransport>(config, log, clock);
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all{
      {"Tcp", make_tcp, small_config()},
      {"TcpIpv6", make_tcp, with([](Config& c) { c.socket_family = AddressFamily::ipv6; })},
      {"TcpFourStreams", make_tcp, with([](Config& c) { c.tcp_streams = 4; })},
      {"TcpEightStreamsChecked", make_tcp, with([](Config& c) {
         c.tcp_streams = 8;
         c.tcp_checksum = ChecksumChoice::full;
       })},
      {"TcpDefaults", make_tcp, with([](Config& c) {
         c = Config();
         c.socket_ifname = "=lo";
       })},
      memory_case(),
  };
  for (Case& each : shm_cases()) all.push_back(std::move(each));
  return all;
}

}  // namespace thinwire::transports::contract
