// One queue pair of a connection with what was given to it, in order: sent, on its way, or waiting
// for room. When the queue pair fails, a new one takes its place, over the same pair of ports or
// another one, and goes on where the peer stopped receiving, so that nothing is lost and nothing
// comes twice.
// Owner: a Channel; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transports/containers.h"
#include "transports/verbs/pairs.h"
#include "transports/verbs/queue_pair.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {

// One work request, complete in itself so that it can be posted again, over any pair. The keys
// stay where they are until it is done.
struct Work {
  const void* data = nullptr;
  std::uint32_t bytes = 0;
  const Keys* local_keys = nullptr;
  std::uint64_t remote_address = 0;  // 0: a message into a slot
  const Keys* remote_keys = nullptr;
  std::uint32_t immediate = 0;
  bool tells = true;       // takes a receive of the peer: a message, or a write with immediate data
  bool signalled = false;  // its completion is waited for
  bool touchable = true;   // by the processor, which copies what is sent inline
  void* owner = nullptr;   // the Sender's
};

class Path {
 public:
  // `queues`: a completion queue of each member. `slots`: what receives go into; null: this path
  // takes nothing but immediate data.
  Path(const Contexts& contexts, const std::vector<ibv_cq*>& queues, std::uint16_t number,
       QueueDepths depths, const class SlotMemory* slots)
      : contexts_(contexts), queues_(queues), number_(number), depths_(depths), slots_(slots) {}

  // A new queue pair in the next epoch, with all its receives posted. The one before is gone, also
  // when it fails: then the path stands still, in its old epoch.
  Status open(const Pair& pair);
  // The next epoch has no queue pair: the path goes on standing still.
  void skip_epoch();
  // Takes what the peer sends. Nothing is sent before start().
  Status connect(const PathAddress& peer);
  // The peer is connected too.
  void start();
  PathAddress address() const { return pair_->address(); }
  const Pair& pair() const { return over_; }
  // "path 1 (rxe0, 10.0.0.1 to 10.0.0.2)".
  std::string name() const;
  bool has_queue_pair() const { return pair_ != nullptr; }
  bool is_live() const { return state_ == State::live; }
  bool is_stopped() const { return state_ == State::stopped; }
  std::uint16_t epoch() const { return epoch_; }
  // Something came back well since it was opened, or it is the first queue pair.
  bool is_proven() const { return proven_; }
  void prove() { proven_ = true; }
  // Mb/s of the slower of its two ports, as far as they say.
  std::size_t speed() const;
  // Nothing more arrives or leaves; what was posted comes back.
  void stop();
  // Stopped, and everything came back. Call until true.
  bool drain();
  // The queue pair is gone, and with it the device's access to memory. What was given stays.
  void close();

  // Takes any amount; posts what there is room for. Where the device refuses, the path stops, and
  // refusal() says why.
  void give(const Work& work);
  void post_waiting();
  const Status& refusal() const { return refusal_; }
  std::size_t bytes_under_way() const { return bytes_under_way_; }

  // A completion of the send queue up to `position`. Then next_done() gives the finished ones.
  void retire(std::uint32_t position) { pair_->retire(position); }
  // Null: no more. Valid until the next call.
  const Work* next_done();
  // Of what was posted on the queue pair before, the peer received the first `count` that tell:
  // they count as finished, and the rest is posted again. False: there were not as many.
  bool resume_after(std::uint32_t count);

  // A receive came back; if `filled` with something that the peer sent.
  void take_receive(bool filled) {
    --receives_out_;
    if (filled) ++received_;
  }
  void post_receive(std::uint32_t slot);
  // In this epoch.
  std::uint32_t received() const { return received_; }
  // In this epoch; the peer has acknowledged them.
  std::uint32_t delivered() const { return delivered_; }

 private:
  enum class State : std::uint8_t { closed, open, live, stopped };
  struct Posted {
    Work work;
    std::uint32_t position = 0;
  };
  const Context& context() const { return *contexts_[over_.here]; }
  // False: the device refused it.
  bool post(const Work& work);
  Status post_all_receives();
  Status try_post_receive(std::uint32_t slot);
  void refused(const Status& status);

  const Contexts& contexts_;
  const std::vector<ibv_cq*>& queues_;
  const std::uint16_t number_;
  const QueueDepths depths_;
  const class SlotMemory* const slots_;
  Pair over_;
  std::unique_ptr<QueuePair> pair_;
  State state_ = State::closed;
  std::uint16_t epoch_ = 0;
  bool proven_ = true;
  Status refusal_;
  std::string peer_gid_;
  int peer_speed_ = 0;  // of its port, Mb/s; 0: unknown
  Ring<Posted> posted_;
  Ring<Work> waiting_;
  Ring<Work> finished_early_;  // by resume_after()
  Work done_;
  std::size_t bytes_under_way_ = 0;
  std::uint32_t receives_out_ = 0;
  bool marked_ = false;  // the last request of a stopped queue pair, which comes back after all
  std::uint32_t received_ = 0;
  std::uint32_t delivered_ = 0;
};

}  // namespace thinwire::transports::verbs
