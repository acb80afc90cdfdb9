// One network device in use by the TCP transport. Owner: the caller of Transport::open(); its
// thread, but for wait().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/tcp/endpoint_state.h"
#include "transports/tcp/interfaces.h"
#include "transports/tcp/settings.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(const Settings& settings, Device device);

  // Whether the kernel gave what it sleeps on.
  bool is_valid() const { return state_.events.is_valid(); }

  Result<std::unique_ptr<Listener>> listen() override;
  Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                              std::span<const std::byte> hello) override;
  Result<std::unique_ptr<Connection>> try_accept(Listener& listener) override;
  Result<MemoryKey> register_memory(void* data, std::size_t bytes, MemoryKind kind) override;
  Status deregister_memory(MemoryKey key) override;
  std::size_t poll(std::span<Completion> out) override;
  void wait(std::int64_t timeout_us) override;
  const Capabilities& capabilities() const override { return capabilities_; }
  Counters counters() const override;

 private:
  void progress_listeners(std::int64_t now_ns, bool had_event);
  void check_peers(std::int64_t now_ns);
  std::size_t drain(std::span<Completion> out);

  EndpointState state_;
  const Device device_;
  const Capabilities capabilities_;
  std::int64_t next_listen_ns_ = 0;
  std::int64_t next_check_ns_ = 0;
  std::uint32_t polls_ = 0;
  std::size_t first_to_drain_ = 0;
  std::atomic<std::int64_t> longest_wait_us_{0};
};

}  // namespace thinwire::transports::tcp
