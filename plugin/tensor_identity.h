// OperationQueue: which tensor the next iallreduce carries. Pure bookkeeping, no clock, no lock.
//
// Owner: one communicator in the Profiler, which serialises the calls. Memory is allocated with the
// first operation and stays. It follows NCCL's order (2.27.3 to 2.30, src/transport/coll_net.cc):
// one operation after another; within one step by step, and within a step groups of 8 channels.
// What does not fit is a mismatch, after which the queue must not be asked again: the order is
// lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/engine.h"
#include "collectives/fixed_queue.h"
#include "plugin/profiler_events.h"

namespace thinwire::plugin {

inline constexpr int kMaxChannels = 64;
inline constexpr int kGroupChannels = 8;  // one iallreduce carries at most so many channels
inline constexpr std::size_t kMaxOperations = 2048;

struct IdentityAnswer {
  enum class Kind : std::uint8_t {
    none,            // no operation is expected
    known,           // `tensor` says which
    unknown_length,  // the tensor's end, whose place depends on what no event tells
    mismatch,        // `reason` says what does not fit
  };
  Kind kind = Kind::none;
  collectives::TensorId tensor;
  const char* reason = nullptr;
};

// Where programs call with buffers of their own (THINWIRE_EF_IDENTITY=buffer), the whole call is
// the tensor.
collectives::TensorId buffer_identity(const collectives::Call& call);

class OperationQueue {
 public:
  // Keys of different scopes differ. `one_head`: one rank on every node, hence one CollNet rank.
  OperationQueue(std::uint64_t scope, bool one_head) : scope_(scope), one_head_(one_head) {}

  // A part of collective `parent` (any value that differs between collectives). Parts of one
  // operation come one after the other; a channel's third part, or any after the first call, begins
  // the same collective anew (a graph replayed). The text says why it cannot be, null if it can.
  [[nodiscard]] const char* add(const CollectiveEvent& collective, std::uint64_t parent,
                                const ProxyOpEvent& part);

  // Who this call is, as often as it is tried.
  IdentityAnswer identify(const collectives::Call& call) const;
  // The call that identify() has just answered as known or unknown_length was taken.
  void accept(const collectives::Call& call);

  std::size_t pending() const { return operations_.size(); }

 private:
  struct Operation {
    CollectiveEvent collective;
    std::uint64_t parent = 0;
    std::uint64_t once = 0;  // channels seen, and seen twice: to send and to receive
    std::uint64_t twice = 0;
    std::size_t channels = 0;
    bool contiguous = true;  // channels 0, 1, 2 ... in this order
    std::size_t steps = 0;
    std::size_t chunk_bytes = 0;
    std::size_t calls = 0;      // taken
    std::size_t offset = 0;     // elements taken, where the user's own buffers are sent
    bool user_buffers = false;  // registered: one call for as much as the network takes
  };
  // Of one call within its operation, in elements.
  struct Place {
    std::size_t step = 0;
    std::size_t group = 0;
    std::size_t begin = 0;  // of the group, if channels of this node are all there are
    std::size_t count = 0;
  };

  bool continues(const Operation& operation, std::uint64_t parent, const ProxyOpEvent& part) const;
  static bool sends_user_buffers(const Operation& operation, const collectives::Call& call);
  static Place place_of(const Operation& operation, DataType type);
  const char* misfit(const Operation& operation, const collectives::Call& call) const;
  std::optional<std::size_t> valid(const Operation& operation, const Place& place,
                                   DataType type) const;
  std::uint64_t key(const Operation& operation, const collectives::Call& call) const;

  const std::uint64_t scope_;
  const bool one_head_;
  collectives::FixedQueue<Operation> operations_;
  bool allocated_ = false;
};

}  // namespace thinwire::plugin
