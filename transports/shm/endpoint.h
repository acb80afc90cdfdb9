// One device in use by the shared-memory transport. Owner: the caller of Transport::open(); its
// thread, but for wait().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transports/control_listener.h"
#include "transports/shm/connection.h"
#include "transports/shm/endpoint_state.h"
#include "transports/transport.h"

namespace thinwire::transports::shm {

class ShmEndpoint final : public Endpoint {
 public:
  // `settings` outlives it.
  ShmEndpoint(const Settings& settings, std::unique_ptr<Endpoint> control);
  ~ShmEndpoint() override;

  // Whether the kernel gave what it sleeps on.
  bool is_valid() const { return state_.events.is_valid(); }

  Result<std::unique_ptr<Listener>> listen() override;
  Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                              std::span<const std::byte> hello) override;
  Result<std::unique_ptr<Connection>> try_accept(Listener& listener) override;
  Result<MemoryKey> register_memory(void* data, std::size_t bytes, MemoryKind kind) override;
  Status deregister_memory(MemoryKey) override { return {}; }
  std::size_t poll(std::span<Completion> out) override;
  void wait(std::int64_t timeout_us) override;
  const Capabilities& capabilities() const override;
  Counters counters() const override;

 private:
  // Established, and not taken yet.
  struct Accepted {
    std::uint64_t listener = 0;
    std::unique_ptr<ShmConnection> connection;
  };
  // Someone on the local socket that has not said for which connection it comes.
  struct Caller {
    LocalSocket socket;
    std::int64_t deadline_ns = 0;
  };

  void take_arrival(ControlListener& listener);
  void answer_arrivals();
  void take_segments(std::int64_t now_ns);
  // False: it stays a caller.
  bool take_segment(Caller& caller, std::int64_t now_ns);
  bool is_setting_up() const;
  void look_at_control(std::int64_t now_ns);
  void arm_if_wanted(bool idle);

  // Declared in the order of their dependence.
  std::unique_ptr<Endpoint> control_;
  EndpointState state_;
  Arrivals arrivals_;
  std::vector<Accepted> accepted_;
  std::optional<LocalListener> local_;
  std::vector<Caller> callers_;
  std::uint64_t strangers_ = 0;
  std::int64_t next_control_ns_ = 0;
  bool armed_ = false;
  std::atomic<bool> setting_up_{true};
};

}  // namespace thinwire::transports::shm
