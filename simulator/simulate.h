// simulate: one collective over a Cluster, step by step of its Plans. Pure, deterministic; blocks
// until done; any thread.
//
// Every rank has one thread that posts messages and computes, oldest tile first, as the Engine does
// (collectives/engine.h); messages queue at the ports of network.h. Where the cluster, the pieces
// and the messages look the same from every `simulated_ranks`-th place, only that many ranks are
// run and stand for all others. Ranks that add or send in another order than their representative
// are then taken to follow it: times are those of a full run for a ring, within 12 % for others
// (short vectors; less for long ones).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "collectives/compiled_plan.h"
#include "collectives/layout.h"
#include "collectives/plan.h"
#include "collectives/selection.h"
#include "simulator/cluster.h"

namespace thinwire::simulator {

struct Workload {
  collectives::Collective collective = collectives::Collective::all_reduce;
  collectives::ScheduleKind schedule = collectives::ScheduleKind::ring;
  collectives::GridSides grid;  // empty: the schedule's own choice
  collectives::Arithmetic arithmetic = collectives::Arithmetic::native;
  std::size_t count = 0;          // elements of the whole vector
  std::size_t element_bytes = 4;  // in memory
  // As elements travel, by level; equal to element_bytes where nothing is compressed.
  std::array<double, 3> wire_bytes_per_element{4, 4, 4};
  std::size_t piece_bytes = 128 * 1024;  // longest piece of one tile, in bytes of elements
  int max_tiles = 64;
  // Plans that know nothing of hosts: every rank on its own, in rank order.
  bool ignore_hosts = false;
  bool use_symmetry = true;
};

struct Outcome {
  std::string schedule;       // as the Plan calls it
  double seconds = 0;         // until the last rank is done
  double host_out_bytes = 0;  // that the busiest host's busiest NIC sent
  double network_bytes = 0;   // sent by all NICs together
  double received_bytes = 0;  // the same on the receiving side
  double spine_bytes = 0;     // that went up from leaves, all together
  double local_bytes = 0;     // within hosts, all together
  double compute_s = 0;       // that the busiest thread spent on arithmetic and messages
  std::uint64_t messages = 0;
  int simulated_ranks = 0;
};

// Steps that the programs of all simulated ranks may have, and with all their tiles: bounds of
// memory and of time (some minutes).
inline constexpr double kMaxSteps = 1 << 25;
inline constexpr double kMaxStepsRun = 1 << 26;

// Requires a cluster without complaint and a grid that fits. Code::invalid_argument: more steps
// than these; Code::internal_error: the Plans never finish.
Result<Outcome> simulate(const Cluster& cluster, const Workload& workload);

// The same with what make_programs() (programs.h) made of the two. Requires steps_run() of them to
// be at most kMaxStepsRun.
struct Programs;
Result<Outcome> simulate(const Cluster& cluster, const Workload& workload,
                         const Programs& programs);

}  // namespace thinwire::simulator
