#include "plugin/net.h"

#include <algorithm>
#include <climits>

#include "plugin/counters.h"
#include "plugin/devices.h"
#include "plugin/memory.h"

namespace thinwire::plugin {

namespace {

// NCCL keeps at most 32 on a communicator of its own and has been seen with more on shared ones.
constexpr std::size_t kMaxRequests = 256;
constexpr std::size_t kCompletionsAtOnce = 16;

int saturated(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

bool is_poison(const transports::Handle& handle) {
  return std::all_of(handle.bytes.begin(), handle.bytes.end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

NetComm::NetComm(Plugin& plugin, int device, ObjectKind kind,
                 std::unique_ptr<transports::Endpoint> endpoint)
    : Object(kind),
      plugin_(plugin),
      memory_types_(memory_types(plugin.devices().find(device)->nic)),
      endpoint_(std::move(endpoint)),
      requests_(kMaxRequests) {
  plugin_.add_source(this, [this] { return counters(); });
  plugin_.workers().add(
      this, [this] { return progress(); }, device);
}

NetComm::~NetComm() {
  plugin_.workers().remove(this);
  plugin_.remove_source(this);
}

Result<std::unique_ptr<NetComm>> NetComm::create(Plugin& plugin, int device, ObjectKind kind) {
  auto endpoint = plugin.open(device);
  if (!endpoint.ok()) return endpoint.status();
  return std::unique_ptr<NetComm>(new NetComm(plugin, device, kind, std::move(endpoint).value()));
}

Status NetComm::connect(const transports::Handle& handle) {
  const std::lock_guard lock(mutex_);
  auto connection = endpoint_->connect(handle, {});
  if (!connection.ok()) return connection.status();
  connection_ = std::move(connection).value();
  return {};
}

Status NetComm::state() {
  const std::lock_guard lock(mutex_);
  poll();
  return connection_->state();
}

Status NetComm::try_accept(transports::Listener& listener) {
  const std::lock_guard lock(mutex_);
  auto connection = endpoint_->try_accept(listener);
  if (!connection.ok()) return connection.status();
  connection_ = std::move(connection).value();
  return {};
}

void NetComm::poll() {
  std::array<transports::Completion, kCompletionsAtOnce> completions;
  const std::size_t count = endpoint_->poll(completions);
  for (const auto& completion : std::span(completions).first(count)) {
    NetRequest& request = requests_.at(completion.cookie);
    request.done = true;
    request.status = completion.status;
    request.count = completion.count;
    request.bytes = completion.bytes;
  }
}

template <class Post>
Result<NetRequest*> NetComm::start(Post post) {
  NetRequest* request = nullptr;
  {
    const std::lock_guard lock(mutex_);
    request = requests_.try_take();
    if (request == nullptr) {
      poll();
      return Status::would_block();
    }
    const Status posted = post(requests_.index_of(request));
    if (!posted.ok()) {
      requests_.give_back(request);
      if (posted.is_would_block()) poll();
      return posted;
    }
    request->comm = this;
    request->done = false;
  }
  plugin_.workers().kick();
  return request;
}

Result<NetRequest*> NetComm::send(const void* data, std::size_t bytes, int tag, void* mhandle) {
  return start([&](std::uint64_t cookie) {
    return connection_->post_send(data, bytes, static_cast<std::uint32_t>(tag), key_of(mhandle),
                                  cookie);
  });
}

Result<NetRequest*> NetComm::receive(std::span<const transports::ReceiveBuffer> buffers) {
  return start([&](std::uint64_t cookie) { return connection_->post_receive(buffers, cookie); });
}

// Host memory is visible as soon as it is received.
Result<NetRequest*> NetComm::flush(const void* data, void* mhandle) {
  if (!is_gpu_memory(mhandle)) return static_cast<NetRequest*>(nullptr);
  auto started = start(
      [&](std::uint64_t cookie) { return connection_->post_flush(data, key_of(mhandle), cookie); });
  // To NCCL no request means that it is flushed.
  if (started.status().is_would_block()) {
    return Status(Code::internal_error, "iflush: too many requests at once");
  }
  return started;
}

Result<bool> NetComm::test(NetRequest* request, int* sizes) {
  const std::lock_guard lock(mutex_);
  if (!request->done) poll();
  if (!request->done) return false;
  request->comm = nullptr;
  requests_.give_back(request);
  if (!request->status.ok()) return request->status;
  if (sizes != nullptr) {
    for (int i = 0; i < request->count; ++i) sizes[i] = saturated(request->bytes[i]);
  }
  return true;
}

Result<void*> NetComm::register_memory(void* data, std::size_t bytes, int kind) {
  const std::lock_guard lock(mutex_);
  return plugin::register_memory(*endpoint_, data, bytes, kind, memory_types_, plugin_.log());
}

Result<void*> NetComm::register_dmabuf(void* data, std::size_t bytes, std::uint64_t offset,
                                       int fd) {
  const std::lock_guard lock(mutex_);
  return plugin::register_dmabuf(*endpoint_, data, bytes, offset, fd, memory_types_, plugin_.log());
}

Status NetComm::deregister_memory(void* mhandle) {
  const std::lock_guard lock(mutex_);
  return plugin::deregister_memory(*endpoint_, mhandle);
}

// Skips a turn rather than wait: whoever holds the lock is making progress.
bool NetComm::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  poll();
  return requests_.in_use() > 0;
}

transports::Counters NetComm::counters() {
  const std::lock_guard lock(mutex_);
  return endpoint_->counters();
}

NetListener::NetListener(Plugin& plugin, int device)
    : Object(ObjectKind::net_listen), plugin_(plugin), device_(device) {
  plugin_.add_source(this, [this] { return counters(); });
}

NetListener::~NetListener() { plugin_.remove_source(this); }

std::unique_ptr<NetListener> NetListener::create(Plugin& plugin, int device) {
  std::unique_ptr<NetListener> listener(new NetListener(plugin, device));
  listener->failure_ = listener->listen();
  if (!listener->failure_.ok()) {
    THINWIRE_WARN(plugin.log(), "cannot listen on device %d: %s (error %d); peers are told", device,
                  listener->failure_.text(), listener->failure_.native());
  }
  return listener;
}

Status NetListener::listen() {
  auto endpoint = plugin_.open(device_);
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(endpoint).value();
  auto listener = endpoint_->listen();
  if (!listener.ok()) return listener.status();
  listener_ = std::move(listener).value();
  handle_ = listener_->handle();
  return {};
}

// Outside our lock: a new communicator enters the list of the Plugin, whose lock is held while
// counters() takes ours.
Status NetListener::make_arriving() {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok() || arriving_) return failure_;
  }
  auto comm = NetComm::create(plugin_, device_, ObjectKind::net_receive);
  if (!comm.ok()) return comm.status();
  const std::lock_guard lock(mutex_);
  comm.value().swap(arriving_);
  accepting_since_ns_ = plugin_.clock().now_ns();
  return {};
}

Result<std::unique_ptr<NetComm>> NetListener::try_accept() {
  if (const Status ready = make_arriving(); !ready.ok()) return ready;
  const std::lock_guard lock(mutex_);
  if (!arriving_) return Status::would_block();
  endpoint_->poll({});
  const Status accepted = arriving_->try_accept(*listener_);
  if (accepted.ok()) return std::move(arriving_);
  if (accepted.failed()) return accepted;
  const std::int64_t waited_s = (plugin_.clock().now_ns() - accepting_since_ns_) / 1'000'000'000;
  if (waited_s < plugin_.config().connect_timeout_s) return accepted;
  THINWIRE_WARN(plugin_.log(), "no peer connected within THINWIRE_CONNECT_TIMEOUT_S=%lld",
                static_cast<long long>(plugin_.config().connect_timeout_s));
  return Status(Code::peer_lost, "accept: no peer connected in time");
}

transports::Counters NetListener::counters() {
  const std::lock_guard lock(mutex_);
  return endpoint_ ? endpoint_->counters() : transports::Counters{};
}

}  // namespace thinwire::plugin
