#include "plugin/profiler.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>

namespace thinwire::plugin {

namespace {

// Handles are odd numbers, so that none equals the address of this.
alignas(8) char indifferent_handle = 0;

void* handle_of(std::uint64_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number << 1 | 1));
}

// 0, the number of nothing, for what is no such handle.
std::uint64_t number_of(const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  return (value & 1) != 0 ? value >> 1 : 0;
}

}  // namespace

Profiler::Context::Context(std::uint64_t id, const CommunicatorInfo& info)
    : number(id), comm(info), queue(id, info.nodes > 0 && info.nodes == info.ranks) {}

void* Profiler::indifferent() { return &indifferent_handle; }

void* Profiler::open(const CommunicatorInfo& comm) {
  const std::lock_guard lock(mutex_);
  pid_.store(getpid(), std::memory_order_relaxed);
  contexts_.push_back(std::make_unique<Context>(++last_context_, comm));
  return handle_of(last_context_);
}

bool Profiler::close(void* context) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = number_of(context);
  return std::erase_if(contexts_, [&](const auto& open) { return open->number == number; }) > 0;
}

Profiler::Context* Profiler::find(const void* context) {
  const std::uint64_t number = number_of(context);
  for (const auto& open : contexts_) {
    if (open->number == number) return open.get();
  }
  return nullptr;
}

void* Profiler::start_collective(void* handle, const CollectiveEvent& event) {
  if (!event.all_reduce || event.algorithm == CollAlgorithm::other) return indifferent();
  const std::lock_guard lock(mutex_);
  Context* context = find(handle);
  if (context == nullptr || context->off != nullptr) return indifferent();
  if (event.comm_hash != 0) context->comm.hash = event.comm_hash;
  if (context->records.empty()) context->records.resize(kMaxCollectives);
  const std::uint64_t number = ++context->last_record;
  context->records[number % kMaxCollectives] = {number, event};
  return handle_of(number);
}

void Profiler::start_part(void* handle, const ProxyOpEvent& event) {
  // Under PXN another process's operations come here, with that process's handles.
  if (event.is_send || event.parent == indifferent() ||
      event.pid != pid_.load(std::memory_order_relaxed))
    return;
  const std::lock_guard lock(mutex_);
  Context* context = find(handle);
  if (context != nullptr && context->off == nullptr) part_of(*context, event);
}

void Profiler::part_of(Context& context, const ProxyOpEvent& event) {
  const std::thread::id here = std::this_thread::get_id();
  if (!context.thread) context.thread = here;
  if (*context.thread != here) return give_up(context, "it has several progress threads");
  const std::uint64_t number = number_of(event.parent);
  const Record* record =
      context.records.empty() || number == 0 ? nullptr : &context.records[number % kMaxCollectives];
  if (record == nullptr || record->number != number) {
    return give_up(context, "an operation came without its collective (a replayed CUDA graph)");
  }
  if (const char* reason = context.queue.add(record->event, number, event)) {
    give_up(context, reason);
  }
}

// Other communicators on the same progress thread do no harm as long as each call says whose it is.
bool Profiler::confusable(const Context& other, const IdentityPort& port) const {
  if (other.comm.hash == 0 || port.comm_hash_ == 0 || other.comm.hash == port.comm_hash_) {
    return true;
  }
  // Its calls come through another communicator's CollNet (ncclCommSplit that shares resources).
  return other.queue.pending() > 0 && std::none_of(ports_.begin(), ports_.end(), [&](auto* each) {
           return each->comm_hash_ == other.comm.hash;
         });
}

// The communicator whose operations this port's calls are, if that is certain.
Profiler::Context* Profiler::choose(IdentityPort& port) {
  const std::thread::id here = std::this_thread::get_id();
  Context* chosen = nullptr;
  for (const auto& context : contexts_) {
    if (context->thread != here) continue;
    const bool named = context->comm.hash != 0 && port.comm_hash_ != 0;
    const bool ours = !named || context->comm.hash == port.comm_hash_;
    if (ours && chosen == nullptr) {
      chosen = context.get();
    } else if (confusable(*context, port)) {
      give_up_thread(port, "its progress thread serves several communicators");
      return nullptr;
    }
  }
  if (chosen == nullptr) return nullptr;
  if (chosen->port == nullptr) chosen->port = &port;
  if (chosen->port != &port) {
    give_up_thread(port, "it uses several network devices");
    return nullptr;
  }
  return chosen;
}

void Profiler::give_up(Context& context, const char* reason) {
  if (context.off != nullptr) return;
  context.off = reason;
  switched_off_.fetch_add(1, std::memory_order_relaxed);
}

void Profiler::give_up_thread(IdentityPort& port, const char* reason) {
  port.off_ = true;
  for (const auto& context : contexts_) {
    if (context->thread != std::this_thread::get_id()) continue;
    give_up(*context, reason);
    say(*context);
  }
}

void Profiler::say(Context& context) {
  if (context.said) return;
  context.said = true;
  THINWIRE_WARN(log_, "tensor identity is off for communicator %#" PRIx64 ", rank %d: %s",
                context.comm.hash, context.comm.rank, context.off);
}

void Profiler::say_unprofiled() {
  if (said_unprofiled_) return;
  said_unprofiled_ = true;
  THINWIRE_INFO(log_, "%s",
                last_context_ == 0 ? "no tensor identity: NCCL has not loaded this library as its "
                                     "profiler (another one is set, or it is too old)"
                                   : "no tensor identity: NCCL reports no operation for this "
                                     "iallreduce (2.27.3 and newer do)");
}

std::optional<collectives::TensorId> Profiler::identify(IdentityPort& port,
                                                        const collectives::Call& call) {
  const std::lock_guard lock(mutex_);
  port.asked_context_ = 0;
  if (port.off_) return std::nullopt;
  Context* context = choose(port);
  if (context == nullptr) {
    if (!port.off_) say_unprofiled();
    return std::nullopt;
  }
  if (context->off != nullptr) {
    say(*context);
    return std::nullopt;
  }
  const IdentityAnswer answer = context->queue.identify(call);
  switch (answer.kind) {
    case IdentityAnswer::Kind::none:
      say_unprofiled();
      return std::nullopt;
    case IdentityAnswer::Kind::mismatch:
      give_up(*context, answer.reason);
      say(*context);
      return std::nullopt;
    case IdentityAnswer::Kind::known:
    case IdentityAnswer::Kind::unknown_length:
      break;
  }
  port.asked_context_ = context->number;
  port.asked_known_ = answer.kind == IdentityAnswer::Kind::known;
  return port.asked_known_ ? std::optional(answer.tensor) : std::nullopt;
}

void Profiler::accept(IdentityPort& port, const collectives::Call& call) {
  const std::lock_guard lock(mutex_);
  Context* context = port.asked_context_ == 0 ? nullptr : find(handle_of(port.asked_context_));
  port.asked_context_ = 0;
  if (context != nullptr && context->off == nullptr) context->queue.accept(call);
  const bool known = context != nullptr && port.asked_known_;
  (known ? identified_ : unidentified_).fetch_add(1, std::memory_order_relaxed);
  ++port.calls_;
  port.identified_ += known;
}

Profiler::Counts Profiler::counts() const {
  return {identified_.load(std::memory_order_relaxed),
          unidentified_.load(std::memory_order_relaxed),
          switched_off_.load(std::memory_order_relaxed)};
}

bool Profiler::was_opened() {
  const std::lock_guard lock(mutex_);
  return last_context_ != 0;
}

bool Profiler::in_use() {
  const std::lock_guard lock(mutex_);
  return !contexts_.empty() || !ports_.empty();
}

IdentityPort::IdentityPort(Profiler& profiler, std::uint64_t comm_hash)
    : profiler_(profiler), comm_hash_(comm_hash) {
  const std::lock_guard lock(profiler_.mutex_);
  profiler_.ports_.push_back(this);
}

IdentityPort::~IdentityPort() {
  const std::lock_guard lock(profiler_.mutex_);
  std::erase(profiler_.ports_, this);
  for (const auto& context : profiler_.contexts_) {
    if (context->port == this) context->port = nullptr;
  }
  if (calls_ == 0) return;
  THINWIRE_INFO(profiler_.log_, "tensor identity: known for %" PRIu64 " of %" PRIu64 " all-reduces",
                identified_, calls_);
}

}  // namespace thinwire::plugin
