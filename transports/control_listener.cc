#include "transports/control_listener.h"

#include <algorithm>
#include <cstring>

#include "transports/random.h"

namespace thinwire::transports {

ControlListener::ControlListener(const Mark& mark, std::unique_ptr<Listener> control, int& live)
    : live_(live),
      transport_number_(mark.number),
      number_(random_number()),
      control_(std::move(control)),
      handle_(mark_handle(control_->handle(), mark)) {
  ++live_;
}

ControlListener::~ControlListener() { --live_; }

bool Arrivals::has_of(std::uint64_t listener) const {
  return std::ranges::any_of(waiting_,
                             [&](const Waiting& waiting) { return waiting.listener == listener; });
}

void Arrivals::take(ControlListener& listener, Endpoint& control, ControlLinks& links,
                    std::int64_t deadline_ns) {
  while (true) {
    auto accepted = control.try_accept(listener.control());
    if (!accepted.ok()) return;
    const auto hello = accepted.value()->hello();
    if (hello.size() == sizeof hello_ && std::memcmp(hello.data(), &hello_, sizeof hello_) == 0) {
      waiting_.push_back({listener.number(),
                          std::make_unique<ControlLink>(links, std::move(accepted).value()),
                          deadline_ns});
      return;
    }
    refuse(accepted.value()->peer_name(), stranger_);
  }
}

void Arrivals::progress(std::int64_t now_ns) {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    waiting.link->progress();
    if (waiting.link->has_frame()) return false;
    const Status state = waiting.link->state();
    if (state.failed())
      refuse(waiting.link->peer_name(), state.text());
    else if (now_ns >= waiting.deadline_ns)
      refuse(waiting.link->peer_name(), "no introduction");
    else
      return false;
    return true;
  });
}

std::vector<Arrivals::Introduced> Arrivals::introduced() {
  std::vector<Introduced> found;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (!waiting.link->has_frame()) return false;
    found.push_back({waiting.listener, std::move(waiting.link)});
    return true;
  });
  return found;
}

void Arrivals::refuse(std::string_view peer, const char* why) {
  if (refused_++ > 0) return;
  THINWIRE_WARN(log_, "%.*s refused: %s", static_cast<int>(peer.size()), peer.data(), why);
}

}  // namespace thinwire::transports
