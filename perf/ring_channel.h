// RingChannel: one channel's connection, message slots and progress through its RingPlan.
// Owner: RingRunner; one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/net_link.h"
#include "perf/request_queue.h"
#include "perf/ring_plan.h"
#include "perf/runner.h"

namespace thinwire::perf {

class RingChannel {
 public:
  static constexpr std::size_t kSlots = 4;  // NCCL: 8 steps of half a slice

  // `link` outlives the channel. Messages carry the sender's rank as tag.
  RingChannel(NetApi& net, const NetLink& link, std::size_t slice_bytes, int rank, int left);

  void set_plan(std::vector<RingSlice> plan);
  void restart(const Work& work, int ranks);
  bool finished() const;
  // Does what can be done now; true when something moved. Throws Failure.
  bool progress();

 private:
  bool post_receives();
  bool complete_receives();
  bool process_next();
  bool post_send();
  void combine(const RingSlice& slice, const std::byte* arrived, std::byte* message) const;

  NetApi& net_;
  const NetLink& link_;
  std::size_t slice_bytes_;
  int rank_;
  int left_;
  Pages send_slots_;
  Pages recv_slots_;
  Registration send_memory_;
  Registration recv_memory_;
  RequestQueue sends_;
  RequestQueue recvs_;

  std::vector<RingSlice> plan_;
  std::size_t recv_total_ = 0;
  Work work_;
  int ranks_ = 1;
  // Counts of slices since restart().
  std::size_t next_ = 0;
  std::size_t recv_posted_ = 0;
  std::size_t recv_arrived_ = 0;
  std::size_t recv_consumed_ = 0;
  std::size_t sent_ = 0;
  std::vector<int> arrived_bytes_;
  bool send_waits_ = false;  // the message in the next send slot is not posted yet
  std::size_t waiting_bytes_ = 0;
};

}  // namespace thinwire::perf
