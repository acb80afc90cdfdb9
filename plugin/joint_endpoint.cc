#include "plugin/joint_endpoint.h"

#include <algorithm>

namespace thinwire::plugin {

namespace {
constexpr std::int64_t kLongestWaitUs = 1'000;
}

// The near one first: it is the cheaper to ask. Neither can keep the other out, since a full `out`
// means that the caller asks again.
std::size_t JointEndpoint::poll(std::span<transports::Completion> out) {
  if (near_ == nullptr) return far_->poll(out);
  const std::size_t count = near_->poll(out.first(out.size() - out.size() / 2));
  return count + far_->poll(out.subspan(count));
}

void JointEndpoint::wait(std::int64_t timeout_us) {
  far_->wait(near_ == nullptr ? timeout_us : std::min(timeout_us, kLongestWaitUs));
}

transports::Counters JointEndpoint::counters() const {
  transports::Counters counters = far_->counters();
  if (near_ == nullptr) return counters;
  const transports::Counters near = near_->counters();
  counters.near_bytes += near.payload_sent;
  counters.unexpected_bytes += near.unexpected_bytes;
  counters.strangers_refused += near.strangers_refused;
  return counters;
}

}  // namespace thinwire::plugin
