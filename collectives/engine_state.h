// What the Engine keeps for each collective and each running tile. Owner: EngineImpl; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/data_type.h"
#include "collectives/codec_set.h"
#include "collectives/compiled_plan.h"
#include "collectives/engine.h"
#include "collectives/staging.h"

namespace thinwire::collectives {

// A collective from submit() to the test() that reports it. Reused; `offsets` keeps its memory.
class Request {
 public:
  const CompiledPlan* plan = nullptr;
  Arithmetic arithmetic{};
  DataType type{};
  ReduceOp op{};
  bool done = false;
  std::size_t element = 0;  // bytes
  std::size_t tile_elements = 0;
  std::size_t tiles = 0;
  std::size_t tiles_started = 0;
  std::size_t tiles_done = 0;
  std::size_t output_bytes = 0;
  // Addresses at which element 0 of the whole vector would lie.
  std::uintptr_t input_origin = 0;
  std::uintptr_t output_origin = 0;
  Strides strides;
  std::size_t tile_bytes = 0;        // of staging that each tile takes
  std::vector<std::size_t> offsets;  // of the pieces, in elements; ranks + 1
  // Of a lossy arithmetic.
  LevelCodecs codecs;
  std::size_t valid = SIZE_MAX;               // elements from there on are stale
  compression::Residual* residual = nullptr;  // pinned until done
};

// A wire region of a tile whose message stays in the transport's memory.
struct View {
  std::byte* data = nullptr;  // null: the region is in the tile's staging
  transports::Connection* lender = nullptr;
  std::int32_t users = 0;  // steps that have not finished with it
};

// One run of a Plan over one tile.
struct Tile {
  Request* request = nullptr;
  std::size_t index = 0;       // within the request
  std::uint64_t sequence = 0;  // within the communicator: tags
  std::byte* staging = nullptr;
  std::size_t steps_left = 0;
  bool done = false;
  std::vector<std::int32_t> waiting;    // per step: dependencies still to finish
  std::vector<std::size_t> wire_bytes;  // per wire slot: what was encoded or received
  std::vector<View> views;              // per wire region
  // Arithmetic steps that may run now, in the order they became ready; each enters once.
  std::vector<StepIndex> ready;
  std::size_t ready_head = 0;

  bool has_ready() const { return ready_head < ready.size(); }
};

// Posts that the transport refused for now, in order.
struct PostRef {
  Tile* tile = nullptr;
  StepIndex step = 0;
};
struct Link {
  transports::Connection* connection = nullptr;
  std::deque<PostRef> sends;
  std::deque<PostRef> receives;
};

}  // namespace thinwire::collectives
