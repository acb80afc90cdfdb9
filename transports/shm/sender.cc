#include "transports/shm/sender.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::shm {

namespace {
constexpr std::size_t kMaxWaiting = 4096;
}

Sender::Sender(std::uint32_t connection, Finished& finished)
    : connection_(connection), finished_(finished) {
  for (std::uint32_t i = kSmallChunks; i-- > 0;) free_small_.push_back(i);
  for (std::uint32_t i = kChunks; i-- > kSmallChunks;) free_large_.push_back(i);
  for (std::uint32_t i = kExposures; i-- > 0;) free_exposures_.push_back(i);
}

Status Sender::post(const void* data, std::size_t bytes, std::uint64_t tag, std::uint64_t cookie) {
  if (waiting_.size() >= kMaxWaiting) return Status::would_block();
  Post post{static_cast<const std::byte*>(data), bytes, 0, tag, cookie};
  ++messages_;
  payload_bytes_ += bytes;
  if (!waiting_.empty() || !write(post)) waiting_.push_back(post);
  return {};
}

bool Sender::has_entry() {
  if (written_ - taken_ < kEntries) return true;
  taken_ = lane_->taken.load(std::memory_order_acquire);
  return written_ - taken_ < kEntries;
}

void Sender::push(const Entry& entry) {
  lane_->entries[written_ % kEntries] = entry;
  lane_->written.store(++written_, std::memory_order_release);
  wrote_ = true;
}

std::uint32_t Sender::take_chunk(std::size_t bytes) {
  std::vector<std::uint32_t>& free =
      bytes <= kSmallBytes && !free_small_.empty() ? free_small_ : free_large_;
  if (free.empty()) return kChunks;
  const std::uint32_t place = free.back();
  free.pop_back();
  return place;
}

bool Sender::write(Post& post) {
  if (exposes_ && post.bytes > kLargeBytes && post.written == 0) return expose(post);
  do {
    const std::size_t part = std::min(post.bytes - post.written, kLargeBytes);
    if (!has_entry()) return false;
    Entry entry{post.tag, post.bytes, 0, static_cast<std::uint32_t>(part), 0};
    if (part > 0) {
      entry.place = take_chunk(part);
      if (entry.place == kChunks) return false;
      std::memcpy(lane_->chunk(entry.place), post.data + post.written, part);
    }
    push(entry);
    post.written += part;
  } while (post.written < post.bytes);
  finish(post);
  return true;
}

bool Sender::expose(const Post& post) {
  if (free_exposures_.empty() || !has_entry()) return false;
  const std::uint32_t exposure = free_exposures_.back();
  free_exposures_.pop_back();
  exposed_[exposure] = post;
  push({post.tag, post.bytes, reinterpret_cast<std::uintptr_t>(post.data), 0, kChunks + exposure});
  return true;
}

void Sender::finish(const Post& post) {
  Completion completion;
  completion.cookie = post.cookie;
  completion.count = 1;
  completion.bytes[0] = post.bytes;
  finished_.push(connection_, completion);
}

bool Sender::take_returns() {
  const std::uint64_t returned = lane_->returned.load(std::memory_order_acquire);
  const bool any = returned_ != returned;
  if (returned - returned_ > kReturns) corrupt_ = true;
  for (; returned_ != returned && !corrupt_; ++returned_) {
    const std::uint32_t place =
        lane_->returns[returned_ % kReturns].load(std::memory_order_relaxed);
    if (place < kSmallChunks) {
      free_small_.push_back(place);
    } else if (place < kChunks) {
      free_large_.push_back(place);
    } else if (place < kChunks + kExposures && exposed_[place - kChunks].data != nullptr) {
      finish(exposed_[place - kChunks]);
      exposed_[place - kChunks] = {};
      free_exposures_.push_back(place - kChunks);
    } else {
      corrupt_ = true;
    }
    // As many as there are: a peer that returns one twice corrupts messages, not this process.
    corrupt_ = corrupt_ || free_small_.size() > kSmallChunks || free_large_.size() > kLargeChunks;
  }
  return any;
}

bool Sender::progress() {
  bool any = take_returns();
  while (!waiting_.empty() && !corrupt_) {
    const std::uint64_t before = written_;
    const bool complete = write(waiting_.front());
    any = any || written_ != before;
    if (!complete) break;
    waiting_.pop_front();
  }
  return any;
}

bool Sender::has_work() const {
  return lane_->returned.load(std::memory_order_acquire) != returned_ ||
         (!waiting_.empty() && written_ - taken_ >= kEntries &&
          lane_->taken.load(std::memory_order_acquire) != taken_);
}

void Sender::fail(const Status& status) {
  Completion completion;
  completion.status = status;
  for (Post& post : exposed_) {
    if (post.data == nullptr) continue;
    completion.cookie = post.cookie;
    finished_.push(connection_, completion);
    post = {};
  }
  for (; !waiting_.empty(); waiting_.pop_front()) {
    completion.cookie = waiting_.front().cookie;
    finished_.push(connection_, completion);
  }
}

}  // namespace thinwire::transports::shm
