// Profiler: what NCCL tells its profiler, kept to know which tensor each iallreduce carries.
//
// Owner: Process, for the life of the library. Application threads start collectives, progress
// threads start their parts and make the calls: one lock, held for some tens of nanoseconds.
// Memory is bounded: per communicator that reduces through CollNet kMaxCollectives records and
// kMaxOperations operations, allocated when the first comes.
//
// Identity is a hint. Whatever does not fit the order that NCCL keeps switches it off for the
// communicator, for good and logged once; nothing else depends on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/log.h"
#include "collectives/engine.h"
#include "plugin/profiler_events.h"
#include "plugin/tensor_identity.h"

namespace thinwire::plugin {

// Collectives enqueued and not yet on the progress thread; NCCL's own queue is shorter.
inline constexpr std::size_t kMaxCollectives = 2048;

class IdentityPort;

class Profiler {
 public:
  // Calls of iallreduce that were taken, and communicators that lost their identity.
  struct Counts {
    std::uint64_t identified = 0;
    std::uint64_t unidentified = 0;
    std::uint64_t switched_off = 0;
  };

  explicit Profiler(const Log& log) : log_(log) {}
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // A communicator of NCCL's. What is given out here and below are numbers, not addresses: stale
  // or foreign ones are recognised, never followed.
  void* open(const CommunicatorInfo& comm);
  // False where `context` is not open.
  bool close(void* context);

  // The handle for an event of any kind that says nothing here. Never null: NCCL 2.23 to 2.26
  // report what belongs to a group only if the group has a handle.
  static void* indifferent();
  // Any thread. The handle of the collective, for its parts to name.
  void* start_collective(void* context, const CollectiveEvent& event);
  // On the progress thread.
  void start_part(void* context, const ProxyOpEvent& event);

  Counts counts() const;
  // Whether NCCL ever opened this library as its profiler.
  bool was_opened();
  // True while NCCL or a CollNet communicator may call.
  bool in_use();

 private:
  friend class IdentityPort;
  struct Record {
    std::uint64_t number = 0;  // 0: none yet
    CollectiveEvent event;
  };
  struct Context {
    Context(std::uint64_t id, const CommunicatorInfo& comm);
    std::uint64_t number;
    CommunicatorInfo comm;
    OperationQueue queue;
    std::vector<Record> records;  // a ring: the latest kMaxCollectives
    std::uint64_t last_record = 0;
    std::optional<std::thread::id> thread;  // where its parts come
    const IdentityPort* port = nullptr;     // where its calls come
    const char* off = nullptr;              // why there is no identity any more
    bool said = false;
  };

  Context* find(const void* context);
  Context* choose(IdentityPort& port);
  void part_of(Context& context, const ProxyOpEvent& event);
  bool confusable(const Context& other, const IdentityPort& port) const;
  void give_up(Context& context, const char* reason);
  void give_up_thread(IdentityPort& port, const char* reason);
  void say(Context& context);
  void say_unprofiled();
  std::optional<collectives::TensorId> identify(IdentityPort& port, const collectives::Call& call);
  void accept(IdentityPort& port, const collectives::Call& call);

  const Log& log_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<IdentityPort*> ports_;
  std::uint64_t last_context_ = 0;
  bool said_unprofiled_ = false;
  std::atomic<std::int64_t> pid_{0};  // asked for once: parts come often
  std::atomic<std::uint64_t> identified_{0};
  std::atomic<std::uint64_t> unidentified_{0};
  std::atomic<std::uint64_t> switched_off_{0};
};

// One CollNet communicator's way to its identities, for as long as it lives. The Profiler outlives
// it. identify() and accept() are called on the progress thread.
class IdentityPort {
 public:
  // `comm_hash`: NCCL's commId, 0 where the interface does not say (below v11). Without it,
  // identity needs a progress thread that serves one communicator only.
  IdentityPort(Profiler& profiler, std::uint64_t comm_hash);
  ~IdentityPort();
  IdentityPort(const IdentityPort&) = delete;
  IdentityPort& operator=(const IdentityPort&) = delete;

  // Which tensor this all_reduce carries, if that is certain; the same however often it is tried.
  std::optional<collectives::TensorId> identify(const collectives::Call& call) {
    return profiler_.identify(*this, call);
  }
  // False where no identity will ever come.
  bool is_possible() { return !off_ && profiler_.was_opened(); }
  // The call that identify() was asked about last has been taken.
  void accept(const collectives::Call& call) { profiler_.accept(*this, call); }

 private:
  friend class Profiler;
  Profiler& profiler_;
  const std::uint64_t comm_hash_;
  bool off_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t identified_ = 0;
  std::uint64_t asked_context_ = 0;  // 0: the last answer came from no operation
  bool asked_known_ = false;
};

}  // namespace thinwire::plugin
