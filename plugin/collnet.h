// The collective objects behind the CollNet tables: a listener, and the communicator of one group.
//
// Owned by Process. The service thread connects, registers and closes while the progress thread
// submits and tests: each object has one lock. Only CollComm::connect() blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fixed_pool.h"
#include "collectives/engine.h"
#include "plugin/compress_check.h"
#include "plugin/core.h"
#include "plugin/joint_endpoint.h"
#include "plugin/object.h"
#include "plugin/plugin.h"
#include "plugin/profiler.h"
#include "transports/transport.h"

namespace thinwire::plugin {

class CollListener final : public Object {
 public:
  // Never fails as NCCL sees it: see NetListener::create().
  // `comm_id`: NCCL's name of the communicator, 0 where the interface does not say.
  static std::unique_ptr<CollListener> create(Plugin& plugin, int device, std::uint64_t comm_id);
  ~CollListener() override;

  const transports::Handle& handle() const { return handle_; }
  int device() const { return device_; }
  std::uint64_t comm_id() const { return comm_id_; }
  // Null when listening failed.
  transports::Listener* listener() { return listener_.get(); }
  transports::Counters counters();

 private:
  CollListener(Plugin& plugin, int device, std::uint64_t comm_id);
  Status listen();

  Plugin& plugin_;
  const int device_;
  const std::uint64_t comm_id_;
  transports::Handle handle_;
  std::unique_ptr<transports::Endpoint> endpoint_;
  std::unique_ptr<transports::Listener> listener_;
};

class CollComm;

// One collective in flight; the pointer is NCCL's request. Lives in its CollComm's pool.
struct CollRequest {
  CollComm* comm = nullptr;                 // null: not in use
  collectives::Request* running = nullptr;  // null once done
  std::size_t bytes = 0;                    // what it received
  // A window in several parts travels through here; empty otherwise.
  std::vector<std::byte> window;
  std::vector<Part> scatter_to;
  std::unique_ptr<CompressCheck> check;  // the true error is wanted
};

// The part of a window [offset, offset + bytes) that lies in each rank's slice of bytes_per_rank,
// in elements of `element_bytes`.
std::vector<std::size_t> window_pieces(int ranks, std::size_t bytes_per_rank, std::size_t offset,
                                       std::size_t bytes, std::size_t element_bytes);

class CollComm final : public Object {
 public:
  // Connects rank `rank` of the group whose listeners' handles are given, in rank order. Blocks,
  // at most THINWIRE_CONNECT_TIMEOUT_S; succeeds on all ranks or fails on all, with the reason
  // logged on each. `listener` is this rank's and may be closed afterwards.
  static Result<std::unique_ptr<CollComm>> connect(Plugin& plugin, CollListener& listener,
                                                   std::vector<transports::Handle> handles,
                                                   int rank);
  ~CollComm() override;

  int rank() const { return group_.rank; }
  int ranks() const { return group_.ranks; }

  // From now on all_reduce() asks which tensor it carries. Before the first call.
  void watch(Profiler& profiler, std::uint64_t comm_id);

  // would_block: nothing free; NCCL calls again. Windows of more than one part go through a copy.
  Result<CollRequest*> all_reduce(collectives::Call call);
  Result<CollRequest*> all_gather(collectives::Call call, std::span<const Part> parts);
  Result<CollRequest*> reduce_scatter(collectives::Call call, std::span<const Part> parts);
  // Progresses; true once done, which frees the request. *bytes: what this rank received.
  Result<bool> test(CollRequest* request, std::size_t* bytes);

  Result<void*> register_memory(void* data, std::size_t bytes, int kind);
  Status deregister_memory(void* mhandle);

  bool progress();
  transports::Counters counters();

 private:
  CollComm(Plugin& plugin, std::unique_ptr<transports::Endpoint> endpoint);
  template <class Fill>
  Result<CollRequest*> start(Fill fill);
  Status submit_check(CollRequest& request, const collectives::Call& call);
  Result<bool> test_parts(CollRequest& request, std::size_t* bytes);
  Status refuse_unidentified(const collectives::Call& call);
  void log_feedback() const;
  void give_back(CollRequest* request);
  Status poll();

  Plugin& plugin_;
  std::mutex mutex_;
  const std::unique_ptr<JointEndpoint> endpoint_;
  collectives::Group group_;
  std::unique_ptr<collectives::Engine> engine_;
  // Destroyed before the engine, whose staging they may be writing to.
  std::vector<std::unique_ptr<transports::Connection>> links_;
  FixedPool<CollRequest> requests_;
  std::optional<IdentityPort> identity_;
  bool said_unidentified_ = false;
};

}  // namespace thinwire::plugin
