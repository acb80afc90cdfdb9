// The RDMA part of a connection: its queue pairs and what is under way on them.
// Owner: a VerbsConnection; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "transports/verbs/control_message.h"
#include "transports/verbs/path.h"
#include "transports/verbs/receiver.h"
#include "transports/verbs/sender.h"

namespace thinwire::transports::verbs {

// A path that failed, for the log and the peer.
struct PathFailure {
  std::uint16_t path = 0;
  std::uint16_t epoch = 0;
  std::string words;  // why, as the device tells it
};

class Channel {
 public:
  // `paths`: 2 or more, the first for messages. `number`: the connection's, unique in its
  // Endpoint. Code::system_error: the device refuses.
  static Result<std::unique_ptr<Channel>> create(const Context& context,
                                                 Registrations& registrations, Finished& finished,
                                                 std::uint32_t number, std::size_t paths);
  // Drops what is under way: the device lets go of all memory.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::vector<PathAddress> addresses() const;
  // Code::peer_lost: no way to one of those addresses, or not as many of them.
  Status connect(std::span<const PathAddress> peer);

  // As Connection has them.
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie);
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);

  // Takes completions and sends what waits. True when something happened.
  bool progress();
  // Asks for an event at the next completion. False: there may have been one already.
  bool arm();

  // The first failure of the connection as a whole; ok while paths can be mended.
  Status failure() const;
  const Oversize& oversize() const { return receiver_.oversize(); }

  // Mending. A path that failed here since the last call:
  std::optional<PathFailure> take_path_failure();
  // The peer saw a path fail.
  void path_is_broken(std::uint16_t path, std::uint16_t epoch);
  // A path that stands still, opened again: what to tell the peer. `force`: no matter what the
  // device has not given back.
  std::optional<ControlMessage> take_resume(bool force);
  // The peer opened its end again. Code::peer_lost: it makes no sense.
  Status take_peer_resume(const ControlMessage& resume);
  bool is_mending() const;

  // What the peer has acknowledged on each path; and whether as much came from it.
  std::vector<std::byte> delivered() const;
  bool has_received(std::span<const std::byte> delivered) const;

  // Completes all outstanding posts with `status`; the device lets go of their memory first.
  void fail_posts(const Status& status);
  void add_to(Counters& counters) const;

 private:
  struct Mending {
    bool reopened = false;
    std::uint32_t delivered = 0;         // over the queue pair that failed, as known here
    std::optional<ControlMessage> peer;  // its resume
  };
  Channel(const Context& context, Registrations& registrations, Finished& finished,
          std::uint32_t number, std::unique_ptr<SlotMemory> incoming,
          std::unique_ptr<SlotMemory> outgoing, std::size_t paths);
  Status open(std::size_t paths);
  void take(const ibv_wc& completion);
  void take_failed(const ibv_wc& completion, const WorkName& name);
  void take_message(std::uint32_t slot, std::uint32_t bytes);
  void take_done();
  Freed freed() const { return {slots_freed_, receiver_.taken(), receiver_.arrived()}; }
  void note(const Status& status) {
    if (failure_.ok() && status.failed()) failure_ = status;
  }
  Status finish_mending(std::uint16_t path);

  const Context& context_;
  const std::unique_ptr<SlotMemory> incoming_;
  const std::unique_ptr<SlotMemory> outgoing_;
  std::vector<std::unique_ptr<Path>> paths_;
  std::vector<Mending> mending_;
  Sender sender_;
  Receiver receiver_;
  ibv_cq* cq_ = nullptr;
  std::uint32_t slots_freed_ = 0;
  std::vector<PathFailure> path_failures_;
  Status failure_;
  bool closed_ = false;
};

}  // namespace thinwire::transports::verbs
