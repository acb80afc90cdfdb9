// Workload: one collective of a Problem in flight on a Cluster, with its buffers. Owner: a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/collectives/cluster.h"
#include "tests/collectives/reference.h"

namespace thinwire::collectives::testing {

class Workload {
 public:
  // Copies the inputs; guards lie around every output.
  Workload(const Problem& problem, bool in_place);

  // Submits on `rank`; false when the engine is out of requests for now. Failures are recorded.
  bool try_submit(Cluster& cluster, int rank);
  // Tests on `rank`. True once it is done or failed.
  bool is_over(Cluster& cluster, int rank);
  bool is_over_everywhere(Cluster& cluster);

  // What `rank` knows of the tensor; before it submits.
  void set_tensor(int rank, const TensorId& tensor) {
    states_[static_cast<std::size_t>(rank)].tensor = tensor;
  }

  Status status(int rank) const { return states_[static_cast<std::size_t>(rank)].status; }
  Bytes output(int rank) const;
  // What differs from `expected` or was written outside; "" when all is well.
  std::string compare(const std::vector<Bytes>& expected) const;

 private:
  struct RankState {
    Bytes input;   // empty when in place
    Bytes buffer;  // guard, output (and input when in place), guard
    std::size_t output_start = 0;
    std::size_t output_bytes = 0;
    std::optional<TensorId> tensor;
    Request* request = nullptr;
    std::size_t reported_bytes = 0;
    bool over = false;
    Status status;
  };
  Call call(int rank);

  const Problem problem_;
  const bool in_place_;
  std::vector<RankState> states_;
};

// `ranks` ranks scattered over hosts of different sizes in two racks.
Layout scattered_layout(int ranks);

// Runs one Problem on a fresh or used Cluster and compares with the reference.
void expect_matches_reference(Cluster& cluster, const EngineOptions& options,
                              const Problem& problem, bool in_place);

// FNV-1a.
std::uint64_t hash_of(const Bytes& bytes);

}  // namespace thinwire::collectives::testing
