// One RDMA port in use, or several as one. Owner: the caller of Transport::open(); its thread, but
// for wait().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/control_listener.h"
#include "transports/transport.h"
#include "transports/verbs/connection.h"
#include "transports/verbs/endpoint_state.h"

namespace thinwire::transports::verbs {

class VerbsEndpoint final : public Endpoint {
 public:
  VerbsEndpoint(Contexts contexts, std::unique_ptr<Endpoint> control);
  ~VerbsEndpoint() override;

  // Whether the kernel gave what it sleeps on.
  bool is_valid() const { return is_valid_; }

  Result<std::unique_ptr<Listener>> listen() override;
  Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                              std::span<const std::byte> hello) override;
  Result<std::unique_ptr<Connection>> try_accept(Listener& listener) override;
  Result<MemoryKey> register_memory(void* data, std::size_t bytes, MemoryKind kind) override {
    return state_->registrations.add(data, bytes, kind);
  }
  Result<MemoryKey> register_dmabuf(void* data, std::size_t bytes, std::uint64_t offset,
                                    int fd) override {
    return state_->registrations.add_dmabuf(data, bytes, offset, fd);
  }
  Status deregister_memory(MemoryKey key) override { return state_->registrations.remove(key); }
  std::size_t poll(std::span<Completion> out) override;
  void wait(std::int64_t timeout_us) override;
  const Capabilities& capabilities() const override { return capabilities_; }
  Counters counters() const override;

 private:
  // An accepted connection whose peer does not receive yet.
  struct Greeting {
    std::uint64_t listener = 0;
    std::unique_ptr<VerbsConnection> connection;
  };

  void take_arrival(ControlListener& listener);
  void answer_arrivals();
  // Moves everything; true while there is something left to do.
  bool advance(std::int64_t now_ns);
  bool is_setting_up() const;
  void look_at_control(std::int64_t now_ns);
  void look_at_ports(std::int64_t now_ns);
  void arm_if_wanted(bool idle);

  // Declared in the order of their dependence.
  std::unique_ptr<Endpoint> control_;
  std::unique_ptr<EndpointState> state_;
  Arrivals arrivals_;
  std::vector<Greeting> greetings_;
  const Capabilities capabilities_;
  bool is_valid_ = false;
  bool was_armed_ = false;
  std::int64_t next_control_ns_ = 0;
  std::int64_t next_ports_ns_ = 0;
  std::uint16_t ports_ = 0;  // that were up
  std::int64_t urgent_until_ns_ = 0;
  std::atomic<bool> setting_up_{true};
};

}  // namespace thinwire::transports::verbs
