// Engine: runs Plans over the connections of one group. Knows when, never what.
//
// Owner: one collective communicator (plugin/collnet.cc), which serialises all calls with its
// lock. Nothing blocks. Memory is bounded and allocated at creation: `max_requests` requests, and
// the staging of as many tiles as run at once, at most `max_tiles` and at most kMaxStagingBytes
// (one tile at least); what cannot start waits in submission order. Output holds partial results
// until its request is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/data_type.h"
#include "base/log.h"
#include "base/status.h"
#include "collectives/codec_set.h"
#include "collectives/cost_constants.h"
#include "collectives/layout.h"
#include "collectives/plan.h"
#include "compression/policy.h"
#include "compression/residual_store.h"
#include "transports/transport.h"

namespace thinwire::collectives {

inline constexpr std::size_t kMaxStagingBytes = std::size_t{64} << 20;
inline constexpr std::size_t kPieceBytes = 128 * 1024;

// automatic: what the cost model finds fastest (candidates.h). hierarchical: between hosts direct
// where sums are rounded on the way, up to kMaxDirectRanks hosts, ring where they are not, up to
// kMaxInnerRingHosts; else, or where EngineOptions::grid is set, grid.
inline constexpr int kMaxDirectRanks = 64;
inline constexpr int kMaxInnerRingHosts = 16;
enum class SchedulePolicy : std::uint8_t {
  automatic,
  ring,
  direct,
  exchange,
  grid,
  hierarchical,
  tree
};

// Error feedback of Calls that say which tensor they carry. Each rank's own affair: what travels
// says for itself how it was encoded.
enum class FeedbackMode : std::uint8_t {
  off,
  needed,  // for codecs that lose too much without: top-k, and int4 rounded to nearest
  all,     // for every lossy codec
};
struct FeedbackOptions {
  FeedbackMode mode = FeedbackMode::needed;
  std::size_t max_bytes = std::size_t{4} << 30;
  int recurrences = 3;  // a tensor has a residual from this appearance on
  // Without a residual what is top-k by the policy travels exactly, unless this is set.
  bool topk_without = false;
};

struct EngineOptions {
  SchedulePolicy schedule = SchedulePolicy::automatic;
  GridSides grid = {};  // of ranks, or of hosts where hierarchical; empty: chosen from ranks and
                        // layout (schedules/grid.h)
  Layout layout = {};   // of the group's ranks; empty: every rank on a host of its own
  CostConstants costs = built_in_costs();  // of `automatic`
  compression::Policy policy = {};         // what sums travel with; all exact
  std::size_t compress_min_bytes = 0;      // shorter vectors stay exact, whatever the policy says
  FeedbackOptions feedback = {};
  std::uint64_t noise_seed = 0;  // of stochastic rounding
  // Longest piece of one tile, in bytes of elements. 0: kPieceBytes, or what the cost model finds
  // better where the schedule is automatic.
  std::size_t piece_bytes = kPieceBytes;
  int max_requests = 128;
  int numa_node = -1;  // where staging is to lie, the NIC's own; -1: wherever it is first touched
  // The transport takes at least 4 * max_tiles receives per connection before it would_block:
  // with fewer, receives of later tiles could keep out those that earlier ones wait for.
  int max_tiles = 64;
};

// The ranks that `rank` exchanges messages with under any schedule that `options` can choose,
// ascending: these must be connected. Symmetric between ranks with equal options.
std::vector<int> peers_needed(const EngineOptions& options, int rank, int ranks);

// The ranks of a communicator. connections[r] is the link to rank r, null for `rank` itself and
// for ranks no Plan names. The Endpoint and the connections are the Engine's alone (it polls every
// completion) and outlive it; but when posts may be outstanding, after a failure or an abort,
// destroy the connections first: until then they may write to the Engine's staging.
struct Group {
  int rank = 0;
  int ranks = 1;
  transports::Endpoint* endpoint = nullptr;
  std::vector<transports::Connection*> connections;
};

// Which part of which tensor of the application an all_reduce carries, where that is known
// (plugin/profiler.h). One rank's own knowledge: another may lack it for the same call, so neither
// what travels nor the Plan may depend on it; treat elements behind `valid` as zeros instead.
struct TensorId {
  // Equal for the same part of the same buffers, size, type and op on the same communicator, call
  // after call; a hash, so compare sizes too before trusting what is kept under it.
  std::uint64_t key = 0;
  // Elements from the start that are the tensor's; those behind are stale memory. 0 to count.
  std::size_t valid = 0;
};

// One collective, the same on every rank but for the pointers and `tensor`. Vectors are in elements
// of `type`.
// all_reduce: input and output hold `piece_count[0] + ...` elements. all_gather: rank r's slice is
// piece r; input points at this rank's piece, output at the window. reduce_scatter: input points
// at the window, output at this rank's piece. input and output may be the same address
// (all_reduce), this rank's piece may already lie in its place in output (all_gather), or output
// be this rank's piece of input (reduce_scatter); they must not overlap otherwise.
struct Call {
  Collective collective = Collective::all_reduce;
  const void* input = nullptr;
  void* output = nullptr;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;  // all_reduce: elements of the whole vector
  // all_gather and reduce_scatter: elements of each rank's piece within the window, in rank
  // order; empty for all_reduce, whose split is the engine's own (geometry.h).
  std::vector<std::size_t> piece_counts;
  std::optional<TensorId> tensor;  // all_reduce only
  bool exact = false;              // whatever the policy says; the same on every rank
};

class Request;  // opaque; owned by the Engine's pool

class Engine {
 public:
  virtual ~Engine() = default;

  // Validates options and group (Code::invalid_argument), builds and compiles the Plans, allocates
  // everything. `log` outlives the Engine.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options, const Group& group,
                                                const Log& log);

  // Starts a collective. would_block: no request free, nothing was taken; invalid_argument: the
  // Call is malformed, nothing was taken; else the sticky failure. Collectives start in submission
  // order, which must be the same on every rank. Does no arithmetic, only posts.
  virtual Result<Request*> submit(const Call& call) = 0;

  // Drives transport and steps: takes completions, posts, then computes for at most a few hundred
  // KiB, oldest tiles first, so that sends leave early. Returns the sticky failure of the
  // communicator, if any. A failed rank stops answering: its neighbours in a Plan notice only when
  // its connections are destroyed, so the owner does that soon after a failure.
  virtual Status poll() = 0;

  // True while poll() has arithmetic to do without any event of the transport: do not wait().
  virtual bool has_ready_work() const = 0;

  // After poll(): true once `request` is done, which gives it back (do not use it again);
  // `bytes`, if not null, is written with the output's bytes on this rank. When the communicator
  // has failed, every request that is not done reports the failure, as often as it is asked.
  virtual Result<bool> test(Request* request, std::size_t* bytes) = 0;

  virtual bool idle() const = 0;

  // What a Call would travel with.
  virtual LevelCodecs codecs_for(const Call& call) const = 0;

  // How error feedback fares. Costs a pass over the residuals.
  virtual compression::ResidualStats feedback() const = 0;
};

}  // namespace thinwire::collectives
