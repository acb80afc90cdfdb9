#include "collectives/engine.h"

#include <algorithm>
#include <cstdlib>

#include "collectives/engine_impl.h"
#include "collectives/schedules/grid.h"

namespace thinwire::collectives {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMaxElements = std::size_t{1} << 48;

bool grid_fits(const EngineOptions& options, int ranks) {
  const int nodes = grid_nodes(options, layout_of(options, ranks));
  return nodes == 0 || fits(options.grid, nodes);
}

bool valid(const EngineOptions& options, const Group& group) {
  return group.ranks >= 1 && group.rank >= 0 && group.rank < group.ranks &&
         options.max_requests >= 1 && options.max_tiles >= 1 &&
         (options.layout.ranks() == 0 || options.layout.ranks() == group.ranks) &&
         grid_fits(options, group.ranks) && (group.ranks == 1 || group.endpoint != nullptr) &&
         (group.ranks == 1 || group.connections.size() == static_cast<std::size_t>(group.ranks));
}

TileMemory tile_memory_for(const EngineOptions& options, const PlanCache& plans) {
  const auto tiles = static_cast<std::size_t>(options.max_tiles);
  const std::size_t largest =
      largest_tile_bytes(options, plans.choices(), plans.layout(), plans.codecs());
  const std::size_t most = kMaxStagingBytes > largest ? kMaxStagingBytes - largest : 0;
  return {tiles, largest, std::max(largest, std::min(tiles * largest, most))};
}

bool overlap(std::uintptr_t a, std::size_t a_bytes, std::uintptr_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options, const Group& group,
                                               const Log& log) {
  if (!valid(options, group)) {
    return Status(Code::invalid_argument, "engine: options or group out of range");
  }
  auto engine = std::make_unique<EngineImpl>(options, group, log);
  if (const Status prepared = engine->prepare(); !prepared.ok()) return prepared;
  return std::unique_ptr<Engine>(std::move(engine));
}

EngineImpl::EngineImpl(const EngineOptions& options, const Group& group, const Log& log)
    : options_(options),
      group_(group),
      log_(log),
      plans_(options, group.rank, group.ranks),
      residuals_(options.feedback.max_bytes, options.feedback.recurrences),
      requests_(static_cast<std::size_t>(options.max_requests)),
      queue_(static_cast<std::size_t>(options.max_requests)),
      tile_memory_(tile_memory_for(options, plans_)),
      started_(static_cast<std::size_t>(options.max_tiles)),
      link_of_(static_cast<std::size_t>(group.ranks), -1) {}

EngineImpl::~EngineImpl() {
  // A failure leaves nothing to be done here: the Endpoint goes next.
  if (staging_ && group_.endpoint != nullptr) {
    (void)group_.endpoint->deregister_memory(staging_key_).ok();
  }
}

Status EngineImpl::prepare() {
  for (const int peer : peers_needed(options_, group_.rank, group_.ranks)) {
    Link link;
    link.connection = group_.connections[static_cast<std::size_t>(peer)];
    if (link.connection == nullptr) {
      return {Code::invalid_argument, "engine: a needed peer is not connected"};
    }
    link_of_[static_cast<std::size_t>(peer)] = static_cast<std::int32_t>(links_.size());
    links_.push_back(std::move(link));
  }
  for (std::size_t i = 0; i < requests_.capacity(); ++i) {
    requests_.at(i).offsets.resize(static_cast<std::size_t>(group_.ranks) + 1);
  }
  const auto tiles = static_cast<std::size_t>(options_.max_tiles);
  tiles_.resize(tiles);
  running_.reserve(tiles);
  for (std::size_t i = tiles; i-- > 0;) free_tiles_.push_back(&tiles_[i]);
  return allocate_staging();
}

Status EngineImpl::allocate_staging() {
  const std::size_t bytes = (tile_memory_.capacity() + kPageBytes - 1) / kPageBytes * kPageBytes;
  staging_ = topology::NodeMemory(bytes, options_.numa_node);
  if (!staging_) return {Code::system_error, "engine: no memory for staging"};
  if (group_.endpoint == nullptr) return {};
  auto key = group_.endpoint->register_memory(staging_.data(), bytes, transports::MemoryKind::host);
  if (!key.ok()) {
    staging_ = {};
    return key.status();
  }
  staging_key_ = key.value();
  return {};
}

Status EngineImpl::validate(const Call& call) const {
  const bool split_by_caller = call.collective != Collective::all_reduce;
  const std::size_t expected = split_by_caller ? static_cast<std::size_t>(group_.ranks) : 0;
  if (call.piece_counts.size() != expected) {
    return {Code::invalid_argument, "collective: one piece count a rank is needed"};
  }
  std::size_t total = call.count;
  for (const std::size_t count : call.piece_counts) {
    total = count > kMaxElements ? kMaxElements + 1 : std::min(kMaxElements + 1, total + count);
  }
  const std::size_t own =
      split_by_caller ? call.piece_counts[static_cast<std::size_t>(group_.rank)] : call.count;
  if (total > kMaxElements) return {Code::invalid_argument, "collective: absurd element count"};
  if (!split_by_caller) total = own;
  const std::size_t in = call.collective == Collective::all_gather ? own : total;
  const std::size_t out = call.collective == Collective::reduce_scatter ? own : total;
  if ((in > 0 && call.input == nullptr) || (out > 0 && call.output == nullptr)) {
    return {Code::invalid_argument, "collective: null buffer"};
  }
  return {};
}

LevelCodecs EngineImpl::codecs_for(const Call& call) const {
  if (call.exact) return {};
  std::size_t elements = call.count;
  for (const std::size_t count : call.piece_counts) elements += count;
  return plans_.codecs().choose(call.collective, call.type, call.op,
                                elements * element_bytes(call.type));
}

bool wants_feedback(FeedbackMode mode, const compression::Codec& codec) {
  switch (mode) {
    case FeedbackMode::off:
      return false;
    case FeedbackMode::needed:
      return codec.id() == compression::CodecId::topk || codec.id() == compression::CodecId::int4;
    case FeedbackMode::all:
      break;
  }
  return codec.lossy();
}

// What is kept from one Call to the next serves only as long as the same rank encodes the same
// elements with the same codec. A Call that overlaps another of the same tensor goes without.
compression::Residual* EngineImpl::find_residual(const Request& request, const Call& call,
                                                 ScheduleKind schedule) {
  const FeedbackMode mode = options_.feedback.mode;
  const bool wanted = request.codecs.any(
      [mode](const compression::Codec& codec) { return wants_feedback(mode, codec); });
  if (!wanted || !call.tensor || request.plan->residuals == 0) return nullptr;
  const compression::ResidualKey key{
      .tensor = call.tensor->key,
      .geometry = static_cast<std::uint64_t>(schedule) << 8 | static_cast<std::uint64_t>(call.op),
      .count = call.count,
      .type = call.type};
  const auto residuals = static_cast<std::size_t>(request.plan->residuals);
  const std::size_t pieces = request.offsets.size() - 1;
  return residuals_.find_and_pin(key, residuals * call.count, residuals * pieces * request.tiles,
                                 call.tensor->valid);
}

Status EngineImpl::fill(Request& request, const Call& call) {
  const auto rank = static_cast<std::size_t>(group_.rank);
  if (call.collective == Collective::all_reduce) {
    split_evenly(call.count, request.offsets);
  } else {
    split_as(call.piece_counts, request.offsets);
  }
  const std::size_t element = element_bytes(call.type);
  const std::size_t total_bytes = request.offsets.back() * element;
  const std::size_t own_start = request.offsets[rank] * element;
  const std::size_t own_bytes = request.offsets[rank + 1] * element - own_start;
  const bool gathers = call.collective == Collective::all_gather;
  const bool scatters = call.collective == Collective::reduce_scatter;
  const auto input = reinterpret_cast<std::uintptr_t>(call.input);
  const auto output = reinterpret_cast<std::uintptr_t>(call.output);

  request.type = call.type;
  request.op = call.op;
  request.element = element;
  request.codecs = codecs_for(call);
  request.arithmetic =
      choose_arithmetic(call.collective, call.type, group_.ranks, request.codecs.lossy());
  request.output_bytes = scatters ? own_bytes : total_bytes;
  const bool in_place =
      overlap(input, gathers ? own_bytes : total_bytes, output, request.output_bytes);
  const Choice& choice = plans_.choices().of(request.arithmetic, total_bytes);
  request.plan = &plans_.get(call.collective, choice.schedule, request.arithmetic, in_place);
  request.input_origin = gathers ? input - own_start : input;
  request.output_origin = scatters ? output - own_start : output;
  if (const Status sized = size_tiles(request, choice); !sized.ok()) return sized;
  request.valid = call.tensor ? call.tensor->valid : SIZE_MAX;
  request.residual = find_residual(request, call, choice.schedule);
  request.tiles_started = 0;
  request.tiles_done = 0;
  request.done = false;
  return {};
}

// Short vectors take little staging, so that many may run at once.
Status EngineImpl::size_tiles(Request& request, const Choice& choice) const {
  const Layout& layout = plans_.layout();
  const std::size_t longest = longest_piece(request.offsets);
  const std::size_t blocks =
      std::max<std::size_t>(1, (longest + kBlockElements - 1) / kBlockElements);
  request.tile_elements = std::min(
      tile_elements(bounded_piece_bytes(choice, layout, request.codecs.sparse()), request.type),
      blocks * kBlockElements);
  request.tiles = tile_count(request.offsets, request.tile_elements);
  request.strides =
      strides_for(plans_.codecs(), request.arithmetic, request.type, request.tile_elements);
  request.tile_bytes =
      request.strides.total(regions_for(choice.schedule, request.arithmetic, layout));
  const Regions needed{static_cast<std::size_t>(request.plan->wire_regions),
                       static_cast<std::size_t>(request.plan->acc_regions)};
  if (request.strides.total(needed) <= request.tile_bytes) return {};
  return {Code::internal_error, "engine: a Plan takes more staging than its schedule allows"};
}

Result<Request*> EngineImpl::submit(const Call& call) {
  if (failure_.failed()) return failure_;
  if (const Status status = validate(call); !status.ok()) return status;
  Request* request = requests_.try_take();
  if (request == nullptr) return Status::would_block();
  if (const Status filled = fill(*request, call); !filled.ok()) {
    requests_.give_back(request);
    return filled;
  }
  queue_.push(request);
  ++in_flight_;
  start_tiles();
  return request;
}

Result<bool> EngineImpl::test(Request* request, std::size_t* bytes) {
  if (!request->done) {
    if (failure_.failed()) return failure_;
    return false;
  }
  if (bytes != nullptr) *bytes = request->output_bytes;
  requests_.give_back(request);
  return true;
}

}  // namespace thinwire::collectives
