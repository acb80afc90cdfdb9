#include "tests/collectives/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace thinwire::collectives::testing {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

}  // namespace

Workload::Workload(const Problem& problem, bool in_place)
    : problem_(problem), in_place_(in_place), states_(problem.inputs.size()) {
  const std::size_t element = element_bytes(problem.type);
  const std::vector<std::size_t> offsets = problem.offsets();
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    RankState& state = states_[rank];
    const Bytes& input = problem.inputs[rank];
    const std::size_t piece_start = offsets[rank] * element;
    state.output_bytes = problem.output_elements(static_cast<int>(rank)) * element;
    const bool scatter = problem.collective == Collective::reduce_scatter;
    const std::size_t window =
        in_place ? std::max(input.size(), state.output_bytes) : state.output_bytes;
    state.buffer.assign(window + 2 * kGuardBytes, kGuard);
    state.output_start = kGuardBytes + (in_place && scatter ? piece_start : 0);
    if (!in_place) {
      state.input = input;
      continue;
    }
    const bool gather = problem.collective == Collective::all_gather;
    std::copy(input.begin(), input.end(),
              state.buffer.begin() +
                  static_cast<std::ptrdiff_t>(kGuardBytes + (gather ? piece_start : 0)));
  }
}

Call Workload::call(int rank) {
  RankState& state = states_[static_cast<std::size_t>(rank)];
  Call call;
  call.collective = problem_.collective;
  call.type = problem_.type;
  call.op = problem_.op;
  call.count = problem_.count;
  call.piece_counts = problem_.piece_counts;
  call.output = state.buffer.data() + state.output_start;
  call.input = state.input.data();
  call.tensor = state.tensor;
  if (in_place_) {
    const std::size_t piece_start =
        problem_.offsets()[static_cast<std::size_t>(rank)] * element_bytes(problem_.type);
    const bool gather = problem_.collective == Collective::all_gather;
    call.input = state.buffer.data() + kGuardBytes + (gather ? piece_start : 0);
  }
  return call;
}

bool Workload::try_submit(Cluster& cluster, int rank) {
  RankState& state = states_[static_cast<std::size_t>(rank)];
  auto submitted = cluster.engine(rank)->submit(call(rank));
  if (submitted.ok()) {
    state.request = submitted.value();
    return true;
  }
  if (submitted.status().is_would_block()) return false;
  state.over = true;
  state.status = submitted.status();
  return true;
}

bool Workload::is_over(Cluster& cluster, int rank) {
  RankState& state = states_[static_cast<std::size_t>(rank)];
  Engine* engine = cluster.engine(rank);
  if (state.over || engine == nullptr) return true;
  if (state.request == nullptr) return false;
  const auto done = engine->test(state.request, &state.reported_bytes);
  if (!done.ok()) state.status = done.status();
  state.over = !done.ok() || done.value();
  return state.over;
}

bool Workload::is_over_everywhere(Cluster& cluster) {
  bool over = true;
  for (int rank = 0; rank < cluster.ranks(); ++rank) over = is_over(cluster, rank) && over;
  return over;
}

Bytes Workload::output(int rank) const {
  const RankState& state = states_[static_cast<std::size_t>(rank)];
  const auto begin = state.buffer.begin() + static_cast<std::ptrdiff_t>(state.output_start);
  return {begin, begin + static_cast<std::ptrdiff_t>(state.output_bytes)};
}

std::string Workload::compare(const std::vector<Bytes>& expected) const {
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    const RankState& state = states_[rank];
    const std::string who = "rank " + std::to_string(rank) + ": ";
    if (!state.status.ok()) return who + state.status.text();
    if (state.reported_bytes != state.output_bytes) return who + "wrong size reported";
    const Bytes got = output(static_cast<int>(rank));
    const auto differs = std::mismatch(got.begin(), got.end(), expected[rank].begin()).first;
    if (differs != got.end()) {
      return who + "output differs at byte " + std::to_string(differs - got.begin()) + " of " +
             std::to_string(got.size());
    }
    if (!in_place_ && state.input != problem_.inputs[rank]) return who + "input was changed";
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      if (state.buffer[i] != kGuard || state.buffer[state.buffer.size() - 1 - i] != kGuard) {
        return who + "wrote outside its buffer";
      }
    }
  }
  return {};
}

Layout scattered_layout(int ranks) {
  std::vector<std::uint64_t> hosts;
  std::vector<std::uint64_t> racks;
  for (int rank = 0; rank < ranks; ++rank) {
    // The fourth host, if any, gets twice as many as the others.
    hosts.push_back(static_cast<std::uint64_t>(rank % 5 == 4 ? 3 : rank % 5));
    racks.push_back(hosts.back() % 2);
  }
  return make_layout(hosts, racks);
}

void expect_matches_reference(Cluster& cluster, const EngineOptions& options,
                              const Problem& problem, bool in_place) {
  Workload workload(problem, in_place);
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    ASSERT_TRUE(workload.try_submit(cluster, rank));
  }
  ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
  EXPECT_EQ(workload.compare(reference_outputs(problem, options)), "")
      << problem.ranks() << " ranks, " << name_of(problem.type) << " " << name_of(problem.op)
      << ", collective " << static_cast<int>(problem.collective) << ", " << problem.offsets().back()
      << " elements, " << (in_place ? "in place" : "out of place");
}

std::uint64_t hash_of(const Bytes& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211u;
  }
  return hash;
}

}  // namespace thinwire::collectives::testing
