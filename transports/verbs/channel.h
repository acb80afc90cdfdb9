// The RDMA part of a connection: its queue pairs and what is under way on them.
// Owner: a VerbsConnection; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "transports/verbs/mender.h"
#include "transports/verbs/pairs.h"
#include "transports/verbs/path.h"
#include "transports/verbs/receiver.h"
#include "transports/verbs/sender.h"

namespace thinwire::transports::verbs {

// What both sides of a connection know of its paths before they make them.
struct ChannelShape {
  std::size_t here = 1;   // members of the Endpoint
  std::size_t there = 1;  // and of the peer's
  std::size_t data_paths = 1;
  bool leads = false;  // the connecting side
};

class Channel {
 public:
  // `number`: the connection's, unique in its Endpoint. Code::system_error: a device refuses.
  static Result<std::unique_ptr<Channel>> create(const Contexts& contexts,
                                                 Registrations& registrations, Finished& finished,
                                                 std::uint32_t number, const ChannelShape& shape);
  // Drops what is under way: the device lets go of all memory.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::vector<PathAddress> addresses() const;
  // Code::peer_lost: no way to any of those addresses, or not as many of them. What only some
  // paths lack is mended later.
  Status connect(std::span<const PathAddress> peer);

  // As Connection has them.
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie);
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);
  Status post_flush(const void* data, MemoryKey memory, std::uint64_t cookie);

  // Takes completions and sends what waits. True when something happened.
  bool progress();
  // Asks for an event at the next completion. False: there may have been one already.
  bool arm();

  // The first failure of the connection as a whole; ok while its paths can be mended.
  Status failure() const;
  const Oversize& oversize() const { return receiver_.oversize(); }

  Mender& mender() { return *mender_; }

  // What the peer has acknowledged on each path; and whether as much came from it.
  std::vector<std::byte> delivered() const;
  bool has_received(std::span<const std::byte> delivered) const;

  // Whether there is something of a peer that closed to be received, and nothing else is wanted.
  bool is_useful_alone() const {
    return receiver_.holds_messages() && receiver_.posted_groups() == 0 && sender_.idle();
  }
  // Completes all outstanding posts with `status`; the device lets go of their memory first.
  void fail_posts(const Status& status);
  void add_to(Counters& counters) const;

 private:
  Channel(const Contexts& contexts, Registrations& registrations, Finished& finished,
          std::uint32_t number, std::unique_ptr<SlotMemory> incoming,
          std::unique_ptr<SlotMemory> outgoing, const ChannelShape& shape);
  Status open();
  Status make_queue(const Context& context);
  bool poll(ibv_cq* queue);
  void take(const ibv_wc& completion);
  void take_failed(const ibv_wc& completion, const WorkName& name);
  void take_message(std::uint32_t slot, std::uint32_t bytes);
  void take_done();
  Freed freed() const { return {slots_freed_, receiver_.taken(), receiver_.arrived()}; }
  void note(const Status& status) {
    if (failure_.ok() && status.failed()) failure_ = status;
  }

  const Contexts& contexts_;
  const std::unique_ptr<SlotMemory> incoming_;
  const std::unique_ptr<SlotMemory> outgoing_;
  std::vector<std::unique_ptr<Path>> paths_;
  std::vector<ibv_cq*> queues_;  // of each member
  Pairs pairs_;
  Registrations& registrations_;
  Sender sender_;
  DeviceJobs jobs_;
  Receiver receiver_;
  std::unique_ptr<Mender> mender_;
  std::uint32_t slots_freed_ = 0;
  Status failure_;
  bool closed_ = false;
};

}  // namespace thinwire::transports::verbs
