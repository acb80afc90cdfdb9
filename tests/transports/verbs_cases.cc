// The verbs transport's entries in the contract suite, over a fake libibverbs within the process
// and TCP's control connections on loopback.
#include "tests/transports/contract.h"
#include "tests/transports/verbs_fake.h"

namespace thinwire::transports::contract {

namespace {

Case fake_case(const char* name, const fakes::FakeHcaOptions& hca, std::int64_t queue_pairs) {
  Config config;
  config.socket_ifname = "=lo";
  config.verbs_queue_pairs = queue_pairs;
  // What the suite sizes its messages by: the border between short and long ones is below 32 KiB,
  // the window for those that are not expected 1 MiB.
  config.tcp_chunk_bytes = 32 * 1024;
  config.tcp_window_bytes = 1024 * 1024;
  return {name,
          [hca](const Config& the_config, const Log& log, const Clock& clock) {
            return std::make_unique<FakeNetworkTransport>(std::vector{hca}, the_config, log, clock);
          },
          config};
}

// Device 0 made of the first `left` devices, device 1 of the others.
Case merged_case(const char* name, int left, int right, std::int64_t queue_pairs) {
  Case the_case = fake_case(name, {}, queue_pairs);
  the_case.accepting_device = 1;
  the_case.make = [left, right](const Config& config, const Log& log, const Clock& clock) {
    std::vector<fakes::FakeHcaOptions> hcas;
    std::vector<std::vector<int>> groups(2);
    for (int i = 0; i < left + right; ++i) {
      hcas.push_back({.name = "fake" + std::to_string(i),
                      .address = "::ffff:10.0.0." + std::to_string(i + 1)});
      groups[i < left ? 0 : 1].push_back(i);
    }
    return std::make_unique<FakeMergedTransport>(hcas, groups, config, log, clock);
  };
  return the_case;
}

}  // namespace

std::vector<Case> cases() {
  return {
      fake_case("FakeRoce", {}, 2),
      fake_case("FakeInfiniBand", {.link_layer = IBV_LINK_LAYER_INFINIBAND}, 1),
      fake_case("FakeShortWrites",
                {.mtu = IBV_MTU_1024, .max_message_bytes = 16 * 1024, .max_inline_bytes = 0}, 4),
      merged_case("FakeTwoDevices", 2, 2, 2),
      merged_case("FakeTwoDevicesToThree", 2, 3, 1),
  };
}

}  // namespace thinwire::transports::contract
