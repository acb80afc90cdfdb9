// The point-to-point objects behind the net tables: a listener, and one communicator a direction.
//
// Owned by Process. NCCL's service thread sets up, registers and closes while its progress thread
// sends, receives and tests: each object has one lock. Nothing blocks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/fixed_pool.h"
#include "plugin/object.h"
#include "plugin/plugin.h"
#include "transports/transport.h"

namespace thinwire::plugin {

class NetComm;

// One isend or irecv in flight; the pointer is NCCL's request. Lives in its NetComm's pool.
struct NetRequest {
  NetComm* comm = nullptr;  // null: not in use
  bool done = false;
  Status status;
  int count = 0;
  std::array<std::size_t, transports::kMaxGroupedReceives> bytes{};
};

// Both directions: a send communicator only sends, a receive communicator only receives.
class NetComm final : public Object {
 public:
  static Result<std::unique_ptr<NetComm>> create(Plugin& plugin, int device, ObjectKind kind);
  ~NetComm() override;

  // Send side: begins connecting; then state() says how far that is.
  Status connect(const transports::Handle& handle);
  Status state();
  // Receive side: takes a connection that arrived at `listener`, or would_block.
  Status try_accept(transports::Listener& listener);

  // would_block: no request or no room; NCCL calls again.
  Result<NetRequest*> send(const void* data, std::size_t bytes, int tag, void* mhandle);
  Result<NetRequest*> receive(std::span<const transports::ReceiveBuffer> buffers);
  // Progresses; true once done, which frees the request. `sizes` may be null, else takes one int
  // per buffer, saturated.
  Result<bool> test(NetRequest* request, int* sizes);

  // Null: nothing to wait for. `data` lies in what `mhandle` registered, received by now.
  Result<NetRequest*> flush(const void* data, void* mhandle);

  Result<void*> register_memory(void* data, std::size_t bytes, int kind);
  Result<void*> register_dmabuf(void* data, std::size_t bytes, std::uint64_t offset, int fd);
  Status deregister_memory(void* mhandle);

  bool progress();
  transports::Counters counters();
  Plugin& plugin() { return plugin_; }

 private:
  NetComm(Plugin& plugin, int device, ObjectKind kind,
          std::unique_ptr<transports::Endpoint> endpoint);
  void poll();
  template <class Post>
  Result<NetRequest*> start(Post post);

  Plugin& plugin_;
  const int memory_types_;  // that the device takes
  std::mutex mutex_;
  std::unique_ptr<transports::Endpoint> endpoint_;
  std::unique_ptr<transports::Connection> connection_;
  FixedPool<NetRequest> requests_;
};

class NetListener final : public Object {
 public:
  // Never fails as NCCL sees it: where listening is impossible the handle is poison (all zero),
  // which makes connect and accept fail on both sides instead of hanging every other rank.
  static std::unique_ptr<NetListener> create(Plugin& plugin, int device);
  ~NetListener() override;

  const transports::Handle& handle() const { return handle_; }
  // would_block until a peer has connected, at most THINWIRE_CONNECT_TIMEOUT_S.
  Result<std::unique_ptr<NetComm>> try_accept();

  transports::Counters counters();

 private:
  NetListener(Plugin& plugin, int device);
  Status listen();
  Status make_arriving();

  Plugin& plugin_;
  const int device_;
  std::mutex mutex_;
  Status failure_;
  transports::Handle handle_;
  std::unique_ptr<transports::Endpoint> endpoint_;
  std::unique_ptr<transports::Listener> listener_;
  std::unique_ptr<NetComm> arriving_;  // made ahead of the next connection
  std::int64_t accepting_since_ns_ = 0;
};

// The poison handle of a rank that could not listen.
bool is_poison(const transports::Handle& handle);

}  // namespace thinwire::plugin
