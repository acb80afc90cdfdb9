// Accepts what a control listener accepts. Owner: the caller of Endpoint::listen(); one thread.
#pragma once

#include <memory>

#include "transports/transport.h"
#include "transports/ucx/endpoint_state.h"

namespace thinwire::transports::ucx {

class UcxListener final : public Listener {
 public:
  UcxListener(EndpointState& state, std::unique_ptr<Listener> control);
  ~UcxListener() override;

  const Handle& handle() const override { return handle_; }
  Listener& control() { return *control_; }
  // Random: no later listener has the same.
  std::uint64_t number() const { return number_; }

 private:
  EndpointState& state_;
  const std::uint64_t number_;
  const std::unique_ptr<Listener> control_;
  const Handle handle_;
};

}  // namespace thinwire::transports::ucx
