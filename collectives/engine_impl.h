// EngineImpl: the Engine. engine.cc creates and submits, engine_progress.cc moves tiles forward,
// engine_compute.cc runs one arithmetic step. Owner and thread: see engine.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/fixed_pool.h"
#include "collectives/engine.h"
#include "collectives/engine_state.h"
#include "collectives/fixed_queue.h"
#include "collectives/geometry.h"
#include "collectives/plan_cache.h"
#include "collectives/tile_memory.h"
#include "compression/residual_store.h"
#include "topology/binding.h"

namespace thinwire::collectives {

class EngineImpl final : public Engine {
 public:
  EngineImpl(const EngineOptions& options, const Group& group, const Log& log);
  ~EngineImpl() override;

  // The part of creation that can fail.
  Status prepare();

  Result<Request*> submit(const Call& call) override;
  Status poll() override;
  bool has_ready_work() const override { return ready_steps_ > 0; }
  Result<bool> test(Request* request, std::size_t* bytes) override;
  bool idle() const override { return in_flight_ == 0; }
  LevelCodecs codecs_for(const Call& call) const override;
  compression::ResidualStats feedback() const override { return residuals_.stats(); }

 private:
  // engine.cc
  Status allocate_staging();
  Status validate(const Call& call) const;
  Status fill(Request& request, const Call& call);
  Status size_tiles(Request& request, const Choice& choice) const;
  compression::Residual* find_residual(const Request& request, const Call& call,
                                       ScheduleKind schedule);
  void finish(Request& request);

  // engine_progress.cc
  void take_completions();
  void complete(const transports::Completion& completion);
  void borrow(Tile& tile, const CompiledStep& step, void* view);
  void give_back_views(Tile& tile, const CompiledStep& step);
  Status accept_bytes(Tile& tile, const CompiledStep& step, std::size_t bytes) const;
  void start_tiles();
  bool try_start_tile(Request& request);
  bool start_step(Tile& tile, StepIndex index);
  void finish_step(Tile& tile, StepIndex index);
  void release(Tile& tile);
  void run_ready();
  void post(Tile& tile, StepIndex index);
  Status try_post(Link& link, const PostRef& ref);
  void flush_posts();
  void flush(Link& link, std::deque<PostRef>& queue);
  void fail(const Status& status);

  // engine_compute.cc
  Range range_of(const Tile& tile, std::int32_t piece) const;
  std::byte* address(const Tile& tile, const Place& place, const Range& range) const;
  Status run_step(Tile& tile, const CompiledStep& step);
  Status run_codec(Tile& tile, const CompiledStep& step, const Range& range);
  std::size_t encode(const Tile& tile, const CompiledStep& step, const Range& range,
                     DataType type) const;
  Status decode(Tile& tile, const CompiledStep& step, const Range& range) const;

  const EngineOptions options_;
  const Group group_;
  const Log& log_;
  PlanCache plans_;

  compression::ResidualStore residuals_;
  FixedPool<Request> requests_;
  FixedQueue<Request*> queue_;  // submitted, not all tiles started
  std::size_t in_flight_ = 0;   // submitted, not done

  topology::NodeMemory staging_;
  transports::MemoryKey staging_key_;
  std::vector<Tile> tiles_;
  std::vector<Tile*> free_tiles_;
  TileMemory tile_memory_;
  FixedQueue<Tile*> started_;   // in order; those that hold tile_memory_
  std::vector<Tile*> running_;  // oldest first
  std::uint64_t next_sequence_ = 0;
  std::size_t ready_steps_ = 0;

  std::vector<Link> links_;
  std::vector<std::int32_t> link_of_;  // per rank, -1
  std::size_t refused_posts_ = 0;

  std::vector<StepIndex> finished_;  // finish_step()'s worklist
  Status failure_;
};

}  // namespace thinwire::collectives
