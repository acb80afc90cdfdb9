#include "plugin/tensor_identity.h"

#include <algorithm>

namespace thinwire::plugin {

namespace {

// splitmix64's finaliser over a running state.
std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  state ^= value + 0x9e3779b97f4a7c15u + (state << 6) + (state >> 2);
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::size_t bytes_of(std::size_t count, DataType type) { return count * element_bytes(type); }

// How many steps the whole tensor takes if these channels carry all of it.
std::size_t steps_needed(std::size_t bytes, std::size_t bytes_per_step) {
  return (bytes - 1) / bytes_per_step + 1;
}

}  // namespace

collectives::TensorId buffer_identity(const collectives::Call& call) {
  std::uint64_t key = 0;
  for (const std::uint64_t value :
       {address_of(call.input), address_of(call.output), std::uint64_t{call.count},
        std::uint64_t{static_cast<std::uint8_t>(call.type)},
        std::uint64_t{static_cast<std::uint8_t>(call.op)}}) {
    key = mix(key, value);
  }
  return {key, call.count};
}

bool OperationQueue::continues(const Operation& operation, std::uint64_t parent,
                               const ProxyOpEvent& part) const {
  const std::uint64_t channel = std::uint64_t{1} << part.channel;
  return operation.parent == parent && operation.calls == 0 &&
         operation.steps == static_cast<std::size_t>(part.steps) &&
         operation.chunk_bytes == static_cast<std::size_t>(part.chunk_bytes) &&
         (operation.twice & channel) == 0;
}

const char* OperationQueue::add(const CollectiveEvent& collective, std::uint64_t parent,
                                const ProxyOpEvent& part) {
  if (part.channel < 0 || part.channel >= kMaxChannels) return "a channel out of range";
  if (part.steps < 1 || part.chunk_bytes < 1) return "a part without steps or bytes";
  if (!allocated_) operations_ = collectives::FixedQueue<Operation>(kMaxOperations);
  allocated_ = true;
  if (operations_.empty() || !continues(operations_.back(), parent, part)) {
    if (operations_.size() == kMaxOperations) return "too many operations that nothing was sent of";
    Operation fresh;
    fresh.collective = collective;
    fresh.parent = parent;
    fresh.steps = static_cast<std::size_t>(part.steps);
    fresh.chunk_bytes = static_cast<std::size_t>(part.chunk_bytes);
    operations_.push(fresh);
  }
  Operation& operation = operations_.back();
  const std::uint64_t channel = std::uint64_t{1} << part.channel;
  if ((operation.once & channel) != 0) {
    operation.twice |= channel;
    return nullptr;
  }
  operation.once |= channel;
  operation.contiguous &= operation.channels == static_cast<std::size_t>(part.channel);
  ++operation.channels;
  return nullptr;
}

bool OperationQueue::sends_user_buffers(const Operation& operation, const collectives::Call& call) {
  if (operation.calls > 0) return operation.user_buffers;
  return operation.channels == 1 && operation.steps == 1 &&
         call.input == operation.collective.send && call.output == operation.collective.receive;
}

OperationQueue::Place OperationQueue::place_of(const Operation& operation, DataType type) {
  const std::size_t groups = (operation.channels + kGroupChannels - 1) / kGroupChannels;
  const std::size_t chunk = operation.chunk_bytes / element_bytes(type);
  Place place;
  place.step = operation.calls / groups;
  place.group = operation.calls % groups;
  const std::size_t first = place.group * kGroupChannels;
  place.begin = (place.step * operation.channels + first) * chunk;
  place.count = std::min<std::size_t>(kGroupChannels, operation.channels - first) * chunk;
  return place;
}

const char* OperationQueue::misfit(const Operation& operation,
                                   const collectives::Call& call) const {
  const CollectiveEvent& tensor = operation.collective;
  if (tensor.type && *tensor.type != call.type) return "the data type differs";
  if (sends_user_buffers(operation, call)) {
    const std::size_t done = bytes_of(operation.offset, call.type);
    const bool here = address_of(call.input) == address_of(tensor.send) + done &&
                      address_of(call.output) == address_of(tensor.receive) + done;
    if (!here) return "the place in a registered buffer differs";
    const bool fits = call.count > 0 && call.count <= tensor.count - operation.offset;
    return fits ? nullptr : "the length of a registered buffer differs";
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(tensor.count, element_bytes(call.type), &bytes) || bytes == 0) {
    return "the tensor has no length";
  }
  if (operation.chunk_bytes % element_bytes(call.type) != 0) return "a chunk splits an element";
  if (call.count != place_of(operation, call.type).count) return "the length differs";
  // Several heads on a node share the tensor, so that it takes fewer steps, never more.
  const std::size_t most = steps_needed(bytes, operation.channels * operation.chunk_bytes);
  if (operation.steps > most || (one_head_ && operation.steps != most)) {
    return "the number of steps differs";
  }
  return nullptr;
}

// All steps but the last are full, however the nodes share the tensor. Where the last one ends is
// known only if this node's channels are all there are: with one head, or in a chain (whose heads
// take turns, so that 0, 1, 2 ... and the right number of steps leave none to others).
std::optional<std::size_t> OperationQueue::valid(const Operation& operation, const Place& place,
                                                 DataType type) const {
  if (place.step + 1 < operation.steps) return place.count;
  const std::size_t step_bytes = operation.channels * operation.chunk_bytes;
  const std::size_t count = operation.collective.count;
  const bool alone = one_head_ || operation.collective.algorithm == CollAlgorithm::collnet_chain;
  if (!alone || !operation.contiguous ||
      operation.steps != steps_needed(bytes_of(count, type), step_bytes)) {
    return std::nullopt;
  }
  return count > place.begin ? std::min(count - place.begin, place.count) : 0;
}

std::uint64_t OperationQueue::key(const Operation& operation, const collectives::Call& call) const {
  const CollectiveEvent& tensor = operation.collective;
  const bool whole = sends_user_buffers(operation, call);
  std::uint64_t state = scope_;
  for (const std::uint64_t value :
       {address_of(tensor.send), address_of(tensor.receive), std::uint64_t{tensor.count},
        std::uint64_t{static_cast<std::uint8_t>(call.type)},
        std::uint64_t{static_cast<std::uint8_t>(call.op)}, std::uint64_t{operation.channels},
        std::uint64_t{operation.steps}, std::uint64_t{operation.chunk_bytes}, std::uint64_t{whole},
        std::uint64_t{whole ? operation.offset : operation.calls}, std::uint64_t{call.count}}) {
    state = mix(state, value);
  }
  return state;
}

IdentityAnswer OperationQueue::identify(const collectives::Call& call) const {
  using Kind = IdentityAnswer::Kind;
  if (operations_.empty()) return {};
  const Operation& operation = operations_.front();
  if (const char* reason = misfit(operation, call)) return {Kind::mismatch, {}, reason};
  const std::optional<std::size_t> length =
      sends_user_buffers(operation, call)
          ? call.count
          : valid(operation, place_of(operation, call.type), call.type);
  if (!length) return {Kind::unknown_length, {}, nullptr};
  return {Kind::known, {key(operation, call), *length}, nullptr};
}

void OperationQueue::accept(const collectives::Call& call) {
  Operation& operation = operations_.front();
  operation.user_buffers = sends_user_buffers(operation, call);
  ++operation.calls;
  operation.offset += call.count;
  const std::size_t groups = (operation.channels + kGroupChannels - 1) / kGroupChannels;
  const bool done = operation.user_buffers ? operation.offset == operation.collective.count
                                           : operation.calls == groups * operation.steps;
  if (done) operations_.pop();
}

}  // namespace thinwire::plugin
