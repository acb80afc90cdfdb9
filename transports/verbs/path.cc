#include "transports/verbs/path.h"

#include <arpa/inet.h>

#include <algorithm>

#include "transports/verbs/slot_memory.h"
#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {
constexpr int kUnknownSpeed = 10000;  // Mb/s
}

Status Path::open(const Pair& pair) {
  close();
  state_ = State::stopped;
  refusal_ = {};
  over_ = pair;
  const auto next = static_cast<std::uint16_t>(epoch_ + 1);
  auto made = QueuePair::create(context(), queues_[pair.here], depths_, number_, next);
  if (!made.ok()) return made.status();
  pair_ = std::move(made).value();
  if (const Status status = post_all_receives(); !status.ok()) {
    pair_.reset();
    return status;
  }
  epoch_ = next;
  state_ = State::open;
  received_ = delivered_ = 0;
  proven_ = epoch_ == 1;
  marked_ = false;
  return {};
}

Status Path::post_all_receives() {
  receives_out_ = 0;
  for (std::uint32_t slot = 0; slot < depths_.receive; ++slot) {
    if (const Status status = try_post_receive(slot); !status.ok()) return status;
  }
  return {};
}

void Path::skip_epoch() {
  ++epoch_;
  received_ = delivered_ = 0;
  proven_ = false;
}

Status Path::connect(const PathAddress& peer) {
  ibv_gid gid{};
  std::copy(peer.gid.begin(), peer.gid.end(), gid.raw);
  peer_gid_ = text_of(gid);
  peer_speed_ = peer.speed * kSpeedUnit;
  return pair_->connect(peer);
}

void Path::start() {
  if (state_ != State::open) return;
  state_ = State::live;
  if (!proven_) {  // writes nothing, and comes back when there is a way to the peer and back
    ibv_send_wr probe{};
    probe.opcode = IBV_WR_RDMA_WRITE;
    if (const Status status = pair_->post_send(probe, true); !status.ok()) return refused(status);
  }
  post_waiting();
}

std::string Path::name() const {
  return "path " + std::to_string(number_) + " (" + context().name() + ", " +
         text_of(context().gid().gid) + " to " + peer_gid_ + ")";
}

std::size_t Path::speed() const {
  const int here = context().speed();
  const int known =
      here > 0 && peer_speed_ > 0 ? std::min(here, peer_speed_) : std::max(here, peer_speed_);
  return static_cast<std::size_t>(known > 0 ? known : kUnknownSpeed);
}

void Path::stop() {
  if (state_ != State::open && state_ != State::live) return;
  pair_->stop();
  state_ = State::stopped;
}

void Path::refused(const Status& status) {
  if (refusal_.ok()) refusal_ = status;
  stop();
}

// Requests that nobody asked a completion for come back silently, or flushed, or not at all: one
// more that is asked for comes after them. From a device that failed nothing more is to be had.
bool Path::drain() {
  if (!is_stopped()) return false;
  if (!pair_ || context().is_dead()) return true;
  if (!marked_ && pair_->room() > 0) {
    ibv_send_wr marker{};
    marker.opcode = IBV_WR_RDMA_WRITE;
    marked_ = pair_->post_send(marker, true).ok();
  }
  return marked_ && receives_out_ == 0 && pair_->room() == depths_.send;
}

void Path::close() {
  pair_.reset();
  state_ = State::closed;
}

Status Path::try_post_receive(std::uint32_t slot) {
  ibv_sge memory{};
  if (slots_ != nullptr) {
    memory = {reinterpret_cast<std::uintptr_t>(slots_->at(slot)), kSlotBytes,
              slots_->local_keys()[over_.here]};
  }
  const Status status = pair_->post_receive(slot, slots_ == nullptr ? nullptr : &memory);
  if (status.ok()) ++receives_out_;
  return status;
}

void Path::post_receive(std::uint32_t slot) {
  if (state_ != State::open && state_ != State::live) return;
  if (const Status status = try_post_receive(slot); !status.ok()) refused(status);
}

bool Path::post(const Work& work) {
  ibv_sge memory{reinterpret_cast<std::uintptr_t>(work.data), work.bytes,
                 (*work.local_keys)[over_.here]};
  ibv_send_wr request{};
  request.sg_list = &memory;
  request.num_sge = work.bytes == 0 ? 0 : 1;
  if (work.touchable && work.bytes > 0 && work.bytes <= pair_->max_inline_bytes())
    request.send_flags = IBV_SEND_INLINE;
  if (work.remote_address == 0) {
    request.opcode = IBV_WR_SEND;
  } else {
    request.opcode = work.tells ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htonl(work.immediate);
    request.wr.rdma = {work.remote_address, (*work.remote_keys)[over_.there]};
  }
  const std::uint32_t position = pair_->position();
  const Status status = pair_->post_send(request, work.signalled);
  if (status.ok())
    posted_.push_back({work, position});
  else
    refused(status);
  return status.ok();
}

void Path::give(const Work& work) {
  bytes_under_way_ += work.bytes;
  const bool waits = !is_live() || !waiting_.empty() || pair_->room() == 0;
  if (waits || !post(work)) waiting_.push_back(work);
}

void Path::post_waiting() {
  while (is_live() && !waiting_.empty() && pair_->room() > 0 && post(waiting_.front())) {
    waiting_.pop_front();
  }
}

const Work* Path::next_done() {
  if (!finished_early_.empty()) {
    done_ = finished_early_.front();
    finished_early_.pop_front();
  } else if (!posted_.empty() && pair_ && !is_stopped() &&
             static_cast<std::int32_t>(posted_.front().position - pair_->retired()) < 0) {
    done_ = posted_.front().work;
    posted_.pop_front();
    if (done_.tells) ++delivered_;
  } else {
    return nullptr;
  }
  bytes_under_way_ -= done_.bytes;
  return &done_;
}

bool Path::resume_after(std::uint32_t count) {
  for (; count > 0 && !posted_.empty(); posted_.pop_front()) {
    if (posted_.front().work.tells) --count;
    finished_early_.push_back(posted_.front().work);
  }
  while (!posted_.empty()) {
    waiting_.push_front(posted_[posted_.size() - 1].work);
    posted_.pop_back();
  }
  return count == 0;
}

}  // namespace thinwire::transports::verbs
