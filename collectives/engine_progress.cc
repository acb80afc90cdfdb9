#include <algorithm>
#include <array>
#include <cassert>

#include "collectives/engine_impl.h"

namespace thinwire::collectives {
namespace {

constexpr std::size_t kArithmeticBytesPerPoll = 256 * 1024;
constexpr std::size_t kCompletionsPerPoll = 64;
constexpr int kMessageBits = 20;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::uint64_t cookie_of(std::size_t tile, StepIndex step) {
  return std::uint64_t{tile} << 32 | static_cast<std::uint32_t>(step);
}

}  // namespace

Status EngineImpl::poll() {
  if (failure_.failed()) return failure_;
  if (group_.endpoint != nullptr) take_completions();
  if (refused_posts_ > 0) flush_posts();
  start_tiles();
  run_ready();
  return failure_;
}

void EngineImpl::take_completions() {
  std::array<transports::Completion, kCompletionsPerPoll> completions;
  const std::size_t count = group_.endpoint->poll(completions);
  for (std::size_t i = 0; i < count && !failure_.failed(); ++i) complete(completions[i]);
}

void EngineImpl::complete(const transports::Completion& completion) {
  // Whoever failed has said so already: the transport logs what it detects.
  if (completion.status.failed()) return fail(completion.status);
  Tile& tile = tiles_[completion.cookie >> 32];
  const auto index = static_cast<StepIndex>(completion.cookie & 0xffffffffu);
  const CompiledStep& step = tile.request->plan->steps[at(index)];
  if (step.action == Action::receive) {
    const Status status = accept_bytes(tile, step, completion.bytes[0]);
    if (!status.ok()) {
      THINWIRE_WARN(log_, "rank %d: message of %zu bytes from rank %d (tile %llu, message %d): %s",
                    group_.rank, completion.bytes[0], step.peer,
                    static_cast<unsigned long long>(tile.sequence), step.message, status.text());
      return fail(status);
    }
    if (completion.view != nullptr) borrow(tile, step, completion.view);
  }
  finish_step(tile, index);
}

void EngineImpl::borrow(Tile& tile, const CompiledStep& step, void* view) {
  tile.views[at(step.to.index)] = {static_cast<std::byte*>(view),
                                   links_[at(link_of_[at(step.peer)])].connection, step.view_users};
}

void EngineImpl::give_back_views(Tile& tile, const CompiledStep& step) {
  if (step.action == Action::receive) return;
  for_each_wire_region(step, [&](std::int32_t region) {
    View& view = tile.views[at(region)];
    if (view.data == nullptr || --view.users > 0) return;
    view.lender->give_back(view.data);
    view = {};
  });
}

Status EngineImpl::accept_bytes(Tile& tile, const CompiledStep& step, std::size_t bytes) const {
  tile.wire_bytes[at(step.wire)] = bytes;
  const Request& request = *tile.request;
  // A codec judges for itself how long an encoding has to be.
  if (is_lossy(request.arithmetic)) return {};
  if (bytes == range_of(tile, step.piece).count * request.element) return {};
  return {Code::peer_lost, "a message is not as long as its piece"};
}

void EngineImpl::start_tiles() {
  while (!queue_.empty() && !failure_.failed()) {
    Request& request = *queue_.front();
    if (request.tiles == 0) {
      finish(request);
      queue_.pop();
      continue;
    }
    if (!try_start_tile(request)) return;
  }
}

// False while the tile has to wait for older ones.
bool EngineImpl::try_start_tile(Request& request) {
  const auto offset = tile_memory_.try_take(request.tile_bytes);
  if (!offset) return false;
  if (request.tiles_started + 1 == request.tiles) queue_.pop();
  Tile& tile = *free_tiles_.back();
  free_tiles_.pop_back();
  running_.push_back(&tile);
  started_.push(&tile);
  tile.staging = staging_.data() + *offset;
  tile.done = false;
  const CompiledPlan& plan = *request.plan;
  tile.request = &request;
  tile.index = request.tiles_started++;
  tile.sequence = next_sequence_++;
  tile.steps_left = plan.steps.size();
  tile.waiting.assign(plan.dependency_counts.begin(), plan.dependency_counts.end());
  tile.wire_bytes.resize(std::max(tile.wire_bytes.size(), at(plan.wire_slots)));
  tile.views.assign(at(plan.wire_regions), {});
  tile.ready.clear();
  tile.ready_head = 0;
  for (const StepIndex index : plan.initial) {
    if (failure_.failed()) break;
    if (start_step(tile, index)) finish_step(tile, index);
  }
  return true;
}

// Returns true when there was nothing to do, so that the step is finished.
bool EngineImpl::start_step(Tile& tile, StepIndex index) {
  const CompiledStep& step = tile.request->plan->steps[at(index)];
  if (step.action == Action::nothing || range_of(tile, step.piece).count == 0) return true;
  if (step.action == Action::send || step.action == Action::receive) {
    post(tile, index);
  } else {
    tile.ready.push_back(index);
    ++ready_steps_;
  }
  return false;
}

void EngineImpl::finish_step(Tile& tile, StepIndex index) {
  const CompiledPlan& plan = *tile.request->plan;
  finished_.push_back(index);
  while (!finished_.empty()) {
    const CompiledStep& step = plan.steps[at(finished_.back())];
    finished_.pop_back();
    --tile.steps_left;
    give_back_views(tile, step);
    for (std::int32_t i = 0; i < step.dependent_count; ++i) {
      const StepIndex dependent = plan.dependents[at(step.first_dependent + i)];
      if (--tile.waiting[at(dependent)] > 0) continue;
      if (start_step(tile, dependent)) finished_.push_back(dependent);
    }
  }
  if (tile.steps_left == 0) release(tile);
}

void EngineImpl::release(Tile& tile) {
  running_.erase(std::find(running_.begin(), running_.end(), &tile));
  tile.done = true;
  while (!started_.empty() && started_.front()->done) {
    free_tiles_.push_back(started_.front());
    started_.pop();
    tile_memory_.give_back_oldest();
  }
  Request& request = *tile.request;
  if (++request.tiles_done == request.tiles) finish(request);
}

void EngineImpl::finish(Request& request) {
  if (request.residual != nullptr) residuals_.unpin(request.residual);
  request.residual = nullptr;
  request.done = true;
  --in_flight_;
}

void EngineImpl::run_ready() {
  std::size_t budget = kArithmeticBytesPerPoll;
  for (std::size_t i = 0; i < running_.size() && !failure_.failed();) {
    Tile& tile = *running_[i];
    if (!tile.has_ready()) {
      ++i;
      continue;
    }
    const StepIndex index = tile.ready[tile.ready_head++];
    --ready_steps_;
    const CompiledStep& step = tile.request->plan->steps[at(index)];
    const std::size_t cost = range_of(tile, step.piece).count * tile.request->element;
    if (const Status status = run_step(tile, step); !status.ok()) {
      THINWIRE_WARN(log_, "rank %d: piece %d of tile %llu: %s", group_.rank, step.piece,
                    static_cast<unsigned long long>(tile.sequence), status.text());
      return fail(status);
    }
    finish_step(tile, index);  // the tile may leave running_, and its successor take its place
    if (!queue_.empty()) start_tiles();
    if (cost >= budget) return;
    budget -= cost;
  }
}

void EngineImpl::post(Tile& tile, StepIndex index) {
  if (failure_.failed()) return;
  const CompiledStep& step = tile.request->plan->steps[at(index)];
  Link& link = links_[at(link_of_[at(step.peer)])];
  std::deque<PostRef>& queue = step.action == Action::send ? link.sends : link.receives;
  const PostRef ref{&tile, index};
  if (queue.empty()) {
    const Status status = try_post(link, ref);
    if (status.ok()) return;
    if (status.failed()) return fail(status);
  }
  queue.push_back(ref);
  ++refused_posts_;
}

Status EngineImpl::try_post(Link& link, const PostRef& ref) {
  const Tile& tile = *ref.tile;
  const Request& request = *tile.request;
  const CompiledStep& step = request.plan->steps[at(ref.step)];
  const Range range = range_of(tile, step.piece);
  std::byte* memory = address(tile, step.from, range);
  // Views are the memory of one link, which the others' transport need not know.
  const bool is_view = step.from.area == Area::wire && tile.views[at(step.from.index)].data;
  const bool staged = !is_view && (step.from.area == Area::wire || step.from.area == Area::acc);
  const transports::MemoryKey key = staged ? staging_key_ : transports::MemoryKey{};
  const std::uint64_t tag =
      tile.sequence << kMessageBits | static_cast<std::uint64_t>(step.message);
  const std::uint64_t cookie =
      cookie_of(static_cast<std::size_t>(ref.tile - tiles_.data()), ref.step);
  const std::size_t exact_bytes = range.count * request.element;
  const bool lossy = is_lossy(request.arithmetic);
  if (step.action == Action::send) {
    const std::size_t bytes = lossy ? tile.wire_bytes[at(step.wire)] : exact_bytes;
    return link.connection->post_send(memory, bytes, tag, key, cookie);
  }
  const transports::ReceiveBuffer buffer{memory, lossy ? request.strides.wire : exact_bytes, tag,
                                         key, step.view_users > 0};
  return link.connection->post_receive({&buffer, 1}, cookie);
}

void EngineImpl::flush_posts() {
  for (Link& link : links_) {
    flush(link, link.receives);
    flush(link, link.sends);
  }
}

void EngineImpl::flush(Link& link, std::deque<PostRef>& queue) {
  while (!queue.empty() && !failure_.failed()) {
    const Status status = try_post(link, queue.front());
    if (status.is_would_block()) return;
    if (status.failed()) return fail(status);
    queue.pop_front();
    --refused_posts_;
  }
}

void EngineImpl::fail(const Status& status) {
  if (failure_.failed()) return;
  failure_ = status;
  ready_steps_ = 0;
}

}  // namespace thinwire::collectives
