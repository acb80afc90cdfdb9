// Watch: what a polling loop calls when a pass moved nothing. It yields the core, naps when that
// lasts, notices ranks that are gone and loops that stand still. Owner: one per rank process; one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perf/session.h"
#include "perf/sockets.h"

namespace thinwire::perf {

class Watch {
 public:
  // timeout_s 0: wait for ever. A plugin is to report a dead peer itself, so a lost rank ends the
  // wait only grace_s later. spin: never nap, as NCCL's progress thread does; otherwise a loop in
  // which for half a millisecond neither a request was completed nor a pass took long enough to
  // have done work leaves the core to others, 0.05 ms at a time.
  Watch(Session& session, int timeout_s, int grace_s, bool spin = false);

  // Something moved.
  void progressed() {
    moved_ = true;
    idle_ = false;
  }
  // Nothing moved in this pass. Throws Failure (runtime_error) as said above.
  void idle();

  // Polls `step` (true: moved something) until `done` says so.
  template <class Step, class Done>
  void poll_until(Step&& step, Done&& done) {
    while (!done()) {
      if (step()) {
        progressed();
      } else {
        idle();
      }
    }
  }

 private:
  void look_around();

  Session& session_;
  int timeout_s_;
  int grace_s_;
  bool spin_;
  bool moved_ = true;
  bool idle_ = false;
  std::int64_t idle_since_ns_ = 0;
  std::int64_t pass_began_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  Deadline still_until_;
  std::optional<std::string> lost_;
  Deadline grace_until_;
};

}  // namespace thinwire::perf
