// Cluster: N ranks in one process, each with its Engine, over a memory fabric. Owner: a test, in
// one thread. Progress is made by polling ranks in a seeded random order, some more often than
// others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/log.h"
#include "collectives/engine.h"
#include "transports/memory/fabric.h"
#include "transports/memory/memory_transport.h"

namespace thinwire::collectives::testing {

struct ClusterOptions {
  int ranks = 2;
  EngineOptions engine;
  std::size_t window_bytes = std::size_t{4} << 20;
  int max_sends = 256;
  std::uint64_t seed = 1;
};

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  ~Cluster();

  int ranks() const { return static_cast<int>(members_.size()); }
  transports::memory::MemoryFabric& fabric() { return fabric_; }
  // Null once the rank was killed.
  Engine* engine(int rank) { return members_[static_cast<std::size_t>(rank)].engine.get(); }
  std::uint64_t payload_sent(int rank) const {
    return members_[static_cast<std::size_t>(rank)].endpoint->counters().payload_sent;
  }
  std::mt19937_64& random() { return random_; }

  // Polls one rank. One whose engine fails closes its connections, as the plugin does.
  void poll_some_rank();
  // Polls until `condition`; false, and a test failure, when that takes so long that it must hang.
  bool run_until(const std::function<bool()>& condition);

  // The machine of `rank` dies.
  void kill(int rank);

 private:
  struct Member {
    std::unique_ptr<transports::Endpoint> endpoint;
    std::vector<std::unique_ptr<transports::Connection>> connections;
    std::unique_ptr<Engine> engine;
    std::uint64_t speed = 1;
  };
  void connect(int rank, int peer);

  Log log_;
  transports::memory::MemoryFabric fabric_;
  transports::memory::MemoryTransport transport_;
  std::vector<Member> members_;
  std::mt19937_64 random_;
};

}  // namespace thinwire::collectives::testing
