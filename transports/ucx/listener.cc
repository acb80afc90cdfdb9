#include "transports/ucx/listener.h"

#include "transports/ucx/handle.h"
#include "transports/ucx/random.h"

namespace thinwire::transports::ucx {

UcxListener::UcxListener(EndpointState& state, std::unique_ptr<Listener> control)
    : state_(state),
      number_(random_number()),
      control_(std::move(control)),
      handle_(mark_handle(control_->handle())) {
  state_.listeners.push_back(this);
}

UcxListener::~UcxListener() { std::erase(state_.listeners, this); }

}  // namespace thinwire::transports::ucx
