#include "perf/ring_channel.h"

#include <algorithm>
#include <cstring>

#include "perf/failure.h"
#include "perf/host_reduce.h"

namespace thinwire::perf {

RingChannel::RingChannel(NetApi& net, const NetLink& link, std::size_t slice_bytes, int rank,
                         int left)
    : net_(net),
      link_(link),
      slice_bytes_(slice_bytes),
      rank_(rank),
      left_(left),
      send_slots_(kSlots * slice_bytes),
      recv_slots_(kSlots * slice_bytes),
      send_memory_(net, link.send(), send_slots_.data(), kSlots * slice_bytes),
      recv_memory_(net, link.recv(), recv_slots_.data(), kSlots * slice_bytes),
      sends_(net, kSlots),
      recvs_(net, kSlots),
      arrived_bytes_(kSlots, 0) {}

void RingChannel::set_plan(std::vector<RingSlice> plan) {
  plan_ = std::move(plan);
  recv_total_ = static_cast<std::size_t>(
      std::count_if(plan_.begin(), plan_.end(), [](const RingSlice& s) { return s.recv; }));
}

void RingChannel::restart(const Work& work, int ranks) {
  work_ = work;
  ranks_ = ranks;
  next_ = recv_posted_ = recv_arrived_ = recv_consumed_ = sent_ = 0;
}

bool RingChannel::finished() const {
  return next_ == plan_.size() && !send_waits_ && sends_.empty() && recvs_.empty();
}

bool RingChannel::progress() {
  bool moved = post_receives();
  moved |= complete_receives();
  moved |= sends_.pop_if_done(nullptr);
  moved |= send_waits_ ? post_send() : process_next();
  return moved;
}

bool RingChannel::post_receives() {
  if (recv_posted_ == recv_total_ || recv_posted_ - recv_consumed_ == kSlots) return false;
  void* request = nullptr;
  std::byte* slot = recv_slots_.data() + recv_posted_ % kSlots * slice_bytes_;
  nccl_check(net_,
             net_.irecv(link_.recv(), slot, slice_bytes_, left_, recv_memory_.memory(), &request),
             "irecv");
  if (request == nullptr) return false;
  recvs_.push(request);
  ++recv_posted_;
  return true;
}

bool RingChannel::complete_receives() {
  if (!recvs_.pop_if_done(&arrived_bytes_[recv_arrived_ % kSlots])) return false;
  ++recv_arrived_;
  return true;
}

bool RingChannel::process_next() {
  if (next_ == plan_.size()) return false;
  const RingSlice& slice = plan_[next_];
  if (slice.recv && recv_arrived_ == recv_consumed_) return false;
  if (slice.send && sends_.full()) return false;
  const std::size_t slot = recv_consumed_ % kSlots;
  if (slice.recv && static_cast<std::size_t>(arrived_bytes_[slot]) != slice.bytes) {
    throw Failure(ExitCode::runtime_error, "a message of " + std::to_string(arrived_bytes_[slot]) +
                                               " bytes arrived where " +
                                               std::to_string(slice.bytes) + " were expected");
  }
  combine(slice, recv_slots_.data() + slot * slice_bytes_,
          send_slots_.data() + sent_ % kSlots * slice_bytes_);
  if (slice.recv) ++recv_consumed_;
  ++next_;
  send_waits_ = slice.send;
  waiting_bytes_ = slice.bytes;
  if (send_waits_) post_send();
  return true;
}

bool RingChannel::post_send() {
  void* request = nullptr;
  std::byte* slot = send_slots_.data() + sent_ % kSlots * slice_bytes_;
  nccl_check(net_,
             net_.isend(link_.send(), slot, waiting_bytes_, rank_, send_memory_.memory(), &request),
             "isend");
  if (request == nullptr) return false;
  sends_.push(request);
  ++sent_;
  send_waits_ = false;
  return true;
}

void RingChannel::combine(const RingSlice& slice, const std::byte* arrived,
                          std::byte* message) const {
  const std::byte* input = work_.send + slice.input_offset;
  std::byte* output = work_.recv + slice.output_offset;
  std::byte* target = slice.output ? output : message;
  if (slice.recv && slice.input) {
    const std::size_t count = slice.bytes / element_bytes(work_.type);
    reduce_arrays(target, arrived, input, count, work_.type, network_op(work_.op));
    if (slice.last_reduction && work_.op == PerfOp::avg) {
      scale_average(target, count, work_.type, ranks_);
    }
  } else {
    const std::byte* source = slice.recv ? arrived : input;
    if (source != target) std::memcpy(target, source, slice.bytes);
  }
  if (slice.output && slice.send) std::memcpy(message, output, slice.bytes);
}

}  // namespace thinwire::perf
