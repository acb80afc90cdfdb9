// Two endpoints as one, for an Engine whose links are of two kinds: some of a network transport,
// some of one within the host. Listens and connects over the network; connections of the other are
// made with near(). One poll drives both. Owner and thread: as any Endpoint's.
#pragma once

#include <cstdint>
#include <memory>

#include "transports/transport.h"

namespace thinwire::plugin {

class JointEndpoint final : public transports::Endpoint {
 public:
  explicit JointEndpoint(std::unique_ptr<transports::Endpoint> far) : far_(std::move(far)) {}

  // Cookies are to be unique over both. `near` takes any host memory, registered or not; it has no
  // connections yet. Null: there is none.
  void set_near(std::unique_ptr<transports::Endpoint> near) { near_ = std::move(near); }
  transports::Endpoint* near() { return near_.get(); }

  Result<std::unique_ptr<transports::Listener>> listen() override { return far_->listen(); }
  Result<std::unique_ptr<transports::Connection>> connect(
      const transports::Handle& handle, std::span<const std::byte> hello) override {
    return far_->connect(handle, hello);
  }
  Result<std::unique_ptr<transports::Connection>> try_accept(
      transports::Listener& listener) override {
    return far_->try_accept(listener);
  }
  // Of the network: that is what cares.
  Result<transports::MemoryKey> register_memory(void* data, std::size_t bytes,
                                                transports::MemoryKind kind) override {
    return far_->register_memory(data, bytes, kind);
  }
  Status deregister_memory(transports::MemoryKey key) override {
    return far_->deregister_memory(key);
  }
  std::size_t poll(std::span<transports::Completion> out) override;
  // For set-up: sleeps on the network alone, at most kLongestWaitUs.
  void wait(std::int64_t timeout_us) override;
  const transports::Capabilities& capabilities() const override { return far_->capabilities(); }
  // What was sent is counted apart: Counters::near_bytes.
  transports::Counters counters() const override;

 private:
  const std::unique_ptr<transports::Endpoint> far_;
  std::unique_ptr<transports::Endpoint> near_;
};

}  // namespace thinwire::plugin
