#include "transports/memory/memory_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "transports/memory/core.h"

namespace thinwire::transports::memory {
namespace {

constexpr char kMagic[8] = {'T', 'W', 'M', 'E', 'M', 'O', 'R', '1'};
constexpr Capabilities kCapabilities{std::size_t{1} << 40, 128 * 1024, false};

class MemoryConnection final : public Connection {
 public:
  MemoryConnection(Core& core, Inbox& inbox, std::span<const std::byte> hello) : core_(core) {
    end_.inbox = &inbox;
    end_.hello.assign(hello.begin(), hello.end());
    end_.lends = core.options.lends;
    core_.links.push_back(&end_);
    inbox.links.push_back(&end_);
  }
  ~MemoryConnection() override {
    const std::lock_guard lock(core_.mutex);
    close(core_, end_);
  }
  LinkEnd& end() { return end_; }

  Status state() const override {
    const std::lock_guard lock(core_.mutex);
    return end_.state;
  }
  std::span<const std::byte> hello() const override { return end_.hello; }
  std::string_view peer_name() const override { return end_.peer_name; }

  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey,
                   std::uint64_t cookie) override {
    const std::lock_guard lock(core_.mutex);
    if (!end_.state.ok()) return end_.state;
    const bool full = end_.outgoing.size() >= static_cast<std::size_t>(core_.options.max_sends);
    if (full || core_.refuses()) return Status::would_block();
    end_.outgoing.push_back(
        core_.dress({static_cast<const std::byte*>(data), bytes, tag, cookie, 0, 0, false}));
    Counters& counters = end_.inbox->counters;
    counters.bytes_sent += bytes;
    counters.payload_sent += bytes;
    ++counters.messages_sent;
    wake(*end_.inbox);
    if (end_.peer != nullptr) wake(*end_.peer->inbox);
    return {};
  }

  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) override {
    const std::lock_guard lock(core_.mutex);
    if (!end_.state.ok()) return end_.state;
    if (buffers.empty() || buffers.size() > kMaxGroupedReceives) {
      return {Code::invalid_argument, "1 to 8 receive buffers are needed"};
    }
    if (end_.receives >= core_.options.max_receives || core_.refuses())
      return Status::would_block();
    const auto group = std::make_shared<Group>();
    group->completion.cookie = cookie;
    group->completion.count = static_cast<int>(buffers.size());
    group->missing = group->completion.count;
    ++end_.receives;
    for (int i = 0; i < group->completion.count; ++i) {
      end_.awaited.push_back({buffers[static_cast<std::size_t>(i)], group, i});
    }
    match_stored(end_);
    wake(*end_.inbox);
    return {};
  }

  void give_back(void* view) override {
    const std::lock_guard lock(core_.mutex);
    end_.lent.erase(view);
  }

 private:
  Core& core_;
  LinkEnd end_;
};

class MemoryListener final : public Listener {
 public:
  MemoryListener(Core& core, Inbox& inbox) : core_(core), number_(core.next_port++) {
    port_.device = inbox.device;
    port_.inbox = &inbox;
    core_.ports[number_] = &port_;
    std::memcpy(handle_.bytes.data(), kMagic, sizeof kMagic);
    std::memcpy(handle_.bytes.data() + sizeof kMagic, &number_, sizeof number_);
  }
  ~MemoryListener() override {
    const std::lock_guard lock(core_.mutex);
    core_.ports.erase(number_);
    for (LinkEnd* caller : port_.callers) {
      fail(*caller, {Code::peer_lost, "the listener was closed"});
    }
  }
  const Handle& handle() const override { return handle_; }
  Port& port() { return port_; }

 private:
  Core& core_;
  Port port_;
  const std::uint64_t number_;
  Handle handle_;
};

class MemoryEndpoint final : public Endpoint {
 public:
  MemoryEndpoint(Core& core, int device) : core_(core) { inbox_.device = device; }

  Result<std::unique_ptr<Listener>> listen() override {
    const std::lock_guard lock(core_.mutex);
    return std::unique_ptr<Listener>(std::make_unique<MemoryListener>(core_, inbox_));
  }

  Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                              std::span<const std::byte> hello) override {
    const std::lock_guard lock(core_.mutex);
    if (std::memcmp(handle.bytes.data(), kMagic, sizeof kMagic) != 0) {
      return Status(Code::invalid_argument, "not a handle of the memory transport");
    }
    if (hello.size() > kMaxHelloBytes) return Status(Code::invalid_argument, "hello too long");
    std::uint64_t number = 0;
    std::memcpy(&number, handle.bytes.data() + sizeof kMagic, sizeof number);
    auto connection = std::make_unique<MemoryConnection>(core_, inbox_, hello);
    LinkEnd& end = connection->end();
    const auto port = core_.ports.find(number);
    if (port == core_.ports.end()) {
      fail(end, {Code::peer_lost, "nobody listens there"});
    } else {
      end.peer_device = port->second->device;
      end.peer_name = "memory device " + std::to_string(end.peer_device);
      end.queued = true;
      port->second->callers.push_back(&end);
      wake(*port->second->inbox);
      wake(inbox_);
    }
    return std::unique_ptr<Connection>(std::move(connection));
  }

  Result<std::unique_ptr<Connection>> try_accept(Listener& listener) override {
    const std::lock_guard lock(core_.mutex);
    Port& port = static_cast<MemoryListener&>(listener).port();
    if (port.callers.empty()) return Status::would_block();
    auto connection =
        std::make_unique<MemoryConnection>(core_, inbox_, std::span<const std::byte>{});
    join(*port.callers.front(), connection->end());
    port.callers.pop_front();
    return std::unique_ptr<Connection>(std::move(connection));
  }

  Result<MemoryKey> register_memory(void*, std::size_t, MemoryKind kind) override {
    if (kind != MemoryKind::host) return Status(Code::invalid_argument, "host memory only");
    return MemoryKey{};
  }
  Status deregister_memory(MemoryKey) override { return {}; }

  std::size_t poll(std::span<Completion> out) override {
    const std::lock_guard lock(core_.mutex);
    inbox_.attention = false;
    for (LinkEnd* end : inbox_.links) deliver(core_, *end);
    const std::size_t count = std::min(out.size(), inbox_.completions.size());
    std::copy_n(inbox_.completions.begin(), count, out.begin());
    inbox_.completions.erase(inbox_.completions.begin(),
                             inbox_.completions.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  void wait(std::int64_t timeout_us) override {
    std::unique_lock lock(core_.mutex);
    // Delays count polls, so the owner has to keep polling.
    if (core_.faults.delay_polls > 0 || core_.faults.clock != nullptr || core_.faults.reorder) {
      return;
    }
    inbox_.changed.wait_for(lock, std::chrono::microseconds(timeout_us),
                            [&] { return inbox_.attention || !inbox_.completions.empty(); });
  }

  const Capabilities& capabilities() const override { return kCapabilities; }
  Counters counters() const override {
    const std::lock_guard lock(core_.mutex);
    return inbox_.counters;
  }

 private:
  Core& core_;
  Inbox inbox_;
};

}  // namespace

Result<std::vector<NicInfo>> MemoryTransport::probe() {
  std::vector<NicInfo> devices(static_cast<std::size_t>(fabric_.core().options.devices));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].name = "mem" + std::to_string(i);
    devices[i].guid = i + 1;
    devices[i].reason = "a device of the process's memory fabric";
  }
  return devices;
}

Result<std::unique_ptr<Endpoint>> MemoryTransport::open(int device) {
  if (device < 0 || device >= fabric_.core().options.devices) {
    return Status(Code::invalid_argument, "no such memory device");
  }
  return std::unique_ptr<Endpoint>(std::make_unique<MemoryEndpoint>(fabric_.core(), device));
}

}  // namespace thinwire::transports::memory
