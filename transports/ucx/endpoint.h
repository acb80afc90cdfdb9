// One device in use by the UCX transport. Owner: the caller of Transport::open(); its thread, but
// for wait().
//
// What its connections sent before they were closed still goes out after its destruction, driven by
// the transport's other endpoints.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/control_listener.h"
#include "transports/transport.h"
#include "transports/ucx/connection.h"
#include "transports/ucx/departed.h"
#include "transports/ucx/endpoint_state.h"
#include "transports/ucx/registrations.h"

namespace thinwire::transports::ucx {

class UcxEndpoint final : public Endpoint {
 public:
  // `context` and `departed` outlive it.
  UcxEndpoint(const Context& context, std::unique_ptr<Endpoint> control, Departed& departed);
  ~UcxEndpoint() override;

  // Whether the kernel gave what it sleeps on.
  bool is_valid() const { return state_->events.is_valid(); }

  Result<std::unique_ptr<Listener>> listen() override;
  Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                              std::span<const std::byte> hello) override;
  Result<std::unique_ptr<Connection>> try_accept(Listener& listener) override;
  Result<MemoryKey> register_memory(void* data, std::size_t bytes, MemoryKind kind) override {
    return registrations_.add(data, bytes, kind);
  }
  Status deregister_memory(MemoryKey key) override { return registrations_.remove(key); }
  std::size_t poll(std::span<Completion> out) override;
  void wait(std::int64_t timeout_us) override;
  const Capabilities& capabilities() const override { return capabilities_; }
  Counters counters() const override;

 private:
  // An accepted connection whose path is still being tried.
  struct Greeting {
    std::uint64_t listener = 0;
    std::unique_ptr<UcxConnection> connection;
  };

  void answer_arrivals();
  // Moves everything; true while there is something left to do.
  bool advance(std::int64_t now_ns);
  void take_arrival(ControlListener& listener);
  bool is_setting_up() const;
  void look_at_control(std::int64_t now_ns);
  void arm_if_wanted(bool idle);

  Departed& departed_;
  // Declared in the order of their dependence.
  std::unique_ptr<Endpoint> control_;
  Registrations registrations_;
  std::unique_ptr<EndpointState> state_;
  Arrivals arrivals_;
  std::vector<Greeting> greetings_;
  const Capabilities capabilities_;
  std::int64_t next_control_ns_ = 0;
  std::int64_t urgent_until_ns_ = 0;
  std::atomic<bool> setting_up_{true};
};

}  // namespace thinwire::transports::ucx
