// A listener that stands on a control transport's, and what arrives there.
// Owner: the caller of Endpoint::listen(), and the accepting Endpoint; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "transports/control_link.h"
#include "transports/marked_handle.h"
#include "transports/transport.h"

namespace thinwire::transports {

class ControlListener final : public Listener {
 public:
  // `live` counts the listeners of an Endpoint, and outlives this one.
  ControlListener(const Mark& mark, std::unique_ptr<Listener> control, int& live);
  ~ControlListener() override;

  const Handle& handle() const override { return handle_; }
  Listener& control() { return *control_; }
  std::uint8_t transport_number() const { return transport_number_; }
  // Random: no later listener has the same.
  std::uint64_t number() const { return number_; }

 private:
  int& live_;
  const std::uint8_t transport_number_;
  const std::uint64_t number_;
  const std::unique_ptr<Listener> control_;
  const Handle handle_;
};

// Control connections that were accepted and have not introduced themselves yet.
class Arrivals {
 public:
  // `hello`: what the control connections of this transport carry. The others outlive it.
  Arrivals(std::uint64_t hello, const char* stranger, const Log& log)
      : hello_(hello), stranger_(stranger), log_(log) {}

  struct Introduced {
    std::uint64_t listener = 0;
    std::unique_ptr<ControlLink> link;
  };

  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }
  bool has_of(std::uint64_t listener) const;
  // Takes the next connection of `listener`, if there is one, refusing strangers before it.
  void take(ControlListener& listener, Endpoint& control, ControlLinks& links,
            std::int64_t deadline_ns);
  // Progresses them, and drops those that failed or let their deadline pass.
  void progress(std::int64_t now_ns);
  // Takes out those whose first message is there.
  std::vector<Introduced> introduced();
  // Counts and, once, warns.
  void refuse(std::string_view peer, const char* why);
  std::uint64_t refused() const { return refused_; }

 private:
  struct Waiting {
    std::uint64_t listener = 0;
    std::unique_ptr<ControlLink> link;
    std::int64_t deadline_ns = 0;
  };
  const std::uint64_t hello_;
  const char* const stranger_;
  const Log& log_;
  std::vector<Waiting> waiting_;
  std::uint64_t refused_ = 0;
};

}  // namespace thinwire::transports
