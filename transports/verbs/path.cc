#include "transports/verbs/path.h"

#include <arpa/inet.h>

#include "transports/verbs/slot_memory.h"

namespace thinwire::transports::verbs {

Status Path::open() {
  close();
  auto made = QueuePair::create(context_, cq_, depths_, number_, ++epoch_);
  if (!made.ok()) return made.status();
  pair_ = std::move(made).value();
  state_ = State::open;
  receives_out_ = received_ = delivered_ = 0;
  marked_ = false;
  for (std::uint32_t slot = 0; slot < depths_.receive; ++slot) {
    if (const Status status = post_receive(slot); !status.ok()) return status;
  }
  return {};
}

Status Path::connect(const PathAddress& peer) {
  const Status status = pair_->connect(peer);
  if (!status.ok()) return status;
  state_ = State::live;
  return post_waiting();
}

void Path::stop() {
  if (state_ != State::open && state_ != State::live) return;
  pair_->stop();
  state_ = State::stopped;
}

// Requests that nobody asked a completion for come back silently, or flushed, or not at all: one
// more that is asked for comes after them.
bool Path::drain() {
  if (!is_stopped()) return false;
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

Status Path::post_receive(std::uint32_t slot) {
  if (state_ == State::stopped) return {};
  ibv_sge memory{};
  if (slots_ != nullptr) {
    memory = {reinterpret_cast<std::uintptr_t>(slots_->at(slot)), kSlotBytes, slots_->local_key()};
  }
  const Status status = pair_->post_receive(slot, slots_ == nullptr ? nullptr : &memory);
  if (status.ok()) ++receives_out_;
  return status;
}

Status Path::post(const Work& work) {
  ibv_sge memory{reinterpret_cast<std::uintptr_t>(work.data), work.bytes, work.local_key};
  ibv_send_wr request{};
  request.sg_list = &memory;
  request.num_sge = work.bytes == 0 ? 0 : 1;
  if (work.bytes > 0 && work.bytes <= pair_->max_inline_bytes())
    request.send_flags = IBV_SEND_INLINE;
  if (work.remote_address == 0) {
    request.opcode = IBV_WR_SEND;
  } else {
    request.opcode = work.tells ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htonl(work.immediate);
    request.wr.rdma = {work.remote_address, work.remote_key};
  }
  const std::uint32_t position = pair_->position();
  const Status status = pair_->post_send(request, work.signalled);
  if (status.ok()) posted_.push_back({work, position});
  return status;
}

Status Path::give(const Work& work) {
  bytes_under_way_ += work.bytes;
  if (!is_live() || !waiting_.empty() || pair_->room() == 0) {
    waiting_.push_back(work);
    return {};
  }
  return post(work);
}

Status Path::post_waiting() {
  while (is_live() && !waiting_.empty() && pair_->room() > 0) {
    if (const Status status = post(waiting_.front()); !status.ok()) return status;
    waiting_.pop_front();
  }
  return {};
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
