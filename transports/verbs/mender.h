// How a connection goes on after a queue pair failed. Both ends stop theirs and wait until
// everything has come back. The connecting side opens another one, over the same pair of ports or
// over one that works, and says where; the accepting side opens its own there. Each says how much
// came over the old one, and sends the rest of its own again. A path that had to leave its pair
// goes back when that works again.
// Owner: a Channel; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "transports/verbs/control_message.h"
#include "transports/verbs/pairs.h"
#include "transports/verbs/path.h"

namespace thinwire::transports::verbs {

// Why a path stopped: its port is down; it failed though the port is up; it is moved on purpose.
enum class Stop : std::uint8_t { port_down = 0, failure = 1, move = 2 };

// A path that stopped, for the log and the peer.
struct PathFailure {
  std::uint16_t path = 0;
  std::uint16_t epoch = 0;
  Stop why = Stop::failure;
  std::string words;
};

// A path that works again.
struct PathRecovery {
  std::string name;
  std::int64_t after_ns = 0;
  bool was_moved = false;  // on purpose
};

class Mender {
 public:
  // `leads`: the connecting side. `patience_ns`: how long a connection lives without a way.
  Mender(const Contexts& contexts, std::span<const std::unique_ptr<Path>> paths, Pairs& pairs,
         bool leads, std::int64_t patience_ns);

  // A path failed here. Its queue pair stops.
  void fail(std::size_t path, Stop why, const std::string& words);
  // The state of a port here changed, or of one of the peer's.
  void ports_changed();
  void take_peer_ports(std::uint16_t ports);

  // Looks at all paths. Call often, with what follows.
  void look(std::int64_t now_ns);
  std::optional<PathFailure> take_failure();
  std::optional<PathRecovery> take_recovery();
  // What to tell the peer: a path that stands still was opened again, or works.
  std::optional<ControlMessage> take_message(std::int64_t now_ns);

  // The peer's messages of these kinds. Code::peer_lost: they make no sense.
  Status take_broken(const ControlMessage& broken, std::int64_t now_ns);
  Status take_resume(const ControlMessage& resume, std::int64_t now_ns);
  Status take_resumed(const ControlMessage& resumed);

  // Some path stands still.
  bool is_mending() const;
  // Some path does not work, or is not known to.
  bool is_healing() const;
  // Ok until the two sides disagree on what has arrived.
  const Status& failure() const { return failure_; }
  // A path did not work for longer than patience.
  bool is_hopeless(std::int64_t now_ns) const;

 private:
  struct State {
    bool noted = false;                  // that it stands still, in this epoch
    bool moving = false;                 // it does so on purpose
    bool reopened = false;               // here, and the peer is still to come
    std::uint32_t delivered = 0;         // over the queue pair that failed, as known here
    std::optional<ControlMessage> peer;  // its resume
    std::int64_t since_ns = 0;           // it does not work; 0: it does
    std::int64_t stopped_ns = 0;
    std::int64_t opened_ns = 0;
    std::int64_t not_before_ns = 0;
  };
  std::optional<ControlMessage> reopen(std::size_t path, std::int64_t now_ns);
  std::optional<Pair> pair_for(std::size_t path) const;
  bool may_reopen(std::size_t path, std::int64_t now_ns);
  Status finish(std::size_t path, std::int64_t now_ns);
  void look_at_stopped(std::size_t path, std::int64_t now_ns);
  void look_at_live(std::size_t path, std::int64_t now_ns);
  void send_home(std::int64_t now_ns);

  const Contexts& contexts_;
  const std::span<const std::unique_ptr<Path>> paths_;
  Pairs& pairs_;
  const bool leads_;
  const std::int64_t patience_ns_;
  std::vector<State> states_;
  std::vector<PathFailure> failures_;
  std::vector<PathRecovery> recoveries_;
  std::vector<ControlMessage> messages_;
  Status failure_;
};

}  // namespace thinwire::transports::verbs
