#include "transports/verbs/sender.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace thinwire::transports::verbs {

namespace {

constexpr std::size_t kMaxOutstanding = 1024;
// What one path is given at a time of a message that goes over several of them; it is worth that
// from two of these on.
constexpr std::size_t kMinChunkBytes = 256 * 1024;
constexpr std::size_t kMaxChunkBytes = 1024 * 1024;
constexpr std::size_t kChunkAlignment = 4096;
// Enough to keep any link busy until the next look at it.
constexpr std::size_t kMaxUnderWayBytes = 4 * 1024 * 1024;
constexpr std::uint32_t kSlotsWorthTelling = kSlots / 4;
constexpr std::uint64_t kWindowWorthTelling = kWindowBytes / 4;
// Of the window, as the peer knows it: from here on every change is worth telling.
constexpr std::uint64_t kTightBytes = kWindowBytes / 4 * 3;

std::uint32_t pieces_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(
      std::max<std::size_t>(1, (bytes + kPieceBytes - 1) / kPieceBytes));
}

std::size_t chunk_for(std::size_t bytes, std::size_t paths) {
  const std::size_t share = (bytes / paths + kChunkAlignment - 1) / kChunkAlignment;
  return std::clamp(share * kChunkAlignment, kMinChunkBytes, kMaxChunkBytes);
}

}  // namespace

// How many messages may leave now: free slots on both sides.
std::uint32_t Sender::room() const {
  return std::min(kSlots - (staged_ - unstaged_), kSlots - (sent_ - peer_freed_));
}

Sender::Send* Sender::begin(const void* data, std::size_t bytes, MemoryKey memory,
                            std::uint64_t cookie) {
  Send* send = sends_.take();
  if (!send->numbered) {
    send->numbered = true;
    send->number = static_cast<std::uint32_t>(numbered_.size());
    numbered_.push_back(send);
  }
  send->order = messages_++;
  send->cookie = cookie;
  send->data = static_cast<const std::byte*>(data);
  send->bytes = bytes;
  send->memory = memory;
  send->own_memory = false;
  send->works = 0;
  payload_bytes_ += bytes;
  return send;
}

Status Sender::post(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                    std::uint64_t cookie, const Freed& freed) {
  const Registered* registered = registrations_.find(memory);
  const bool touchable = registered == nullptr || !registered->device_memory;
  const bool fits = charged_ - granted_ + cost_of(bytes) <= kWindowBytes;
  const bool eager = bytes == 0 || (bytes <= kMaxEagerBytes && touchable && fits);
  const std::uint32_t pieces = eager ? pieces_of(bytes) : 1;
  if (sends_.in_use() >= kMaxOutstanding || (bytes == 0 && !fits) || !control_.empty() ||
      room() < pieces + kReservedSlots) {
    return Status::would_block();
  }
  Send* send = begin(data, bytes, memory, cookie);
  MessageHeader header;
  header.tag = tag;
  header.message_bytes = bytes;
  header.slots_freed = told_.slots = freed.slots;
  header.granted = told_.window = freed.window;
  if (eager) {
    send->phase = Phase::eager;
    charged_ += cost_of(bytes);
    send_pieces(send, header);
    return {};
  }
  if (registered == nullptr) {
    auto added = registrations_.add(const_cast<void*>(data), bytes, MemoryKind::host);
    if (!added.ok()) {
      --messages_;
      payload_bytes_ -= bytes;
      forget(send);
      return added.status();
    }
    send->memory = added.value();
    send->own_memory = true;
  }
  send->phase = Phase::asking;
  header.kind = MessageKind::request;
  header.send = send->number;
  // Who answers it has it: no completion is waited for.
  send_header(header, nullptr, nullptr, false);
  return {};
}

void Sender::tell(const MessageHeader& header, const Keys& keys, std::size_t members) {
  control_.push_back({header, keys});
  control_[control_.size() - 1].header.piece_bytes =
      static_cast<std::uint32_t>(members * sizeof keys[0]);
}

void Sender::send_pieces(Send* send, MessageHeader header) {
  header.kind = MessageKind::data;
  header.charged = 1;
  std::size_t at = 0;
  do {
    const std::size_t piece = std::min(kPieceBytes, send->bytes - at);
    header.offset = static_cast<std::uint32_t>(at);
    header.piece_bytes = static_cast<std::uint32_t>(piece);
    const bool last = at + piece == send->bytes;
    send_header(header, send->data + at, send, last);
    at += piece;
  } while (at < send->bytes);
}

void Sender::send_header(const MessageHeader& header, const void* piece, Send* owner,
                         bool signalled) {
  std::byte* slot = staging_.at(staged_++ % kSlots);
  std::memcpy(slot, &header, sizeof header);
  if (header.piece_bytes > 0) std::memcpy(slot + sizeof header, piece, header.piece_bytes);
  ++sent_;
  Work work;
  work.data = slot;
  work.bytes = static_cast<std::uint32_t>(sizeof header) + header.piece_bytes;
  work.local_keys = &staging_.local_keys();
  work.signalled = signalled;
  work.owner = owner;
  if (owner != nullptr) ++owner->works;
  sent_bytes_ += work.bytes;
  paths_[0]->give(work);
}

void Sender::flush(const Freed& freed) {
  const auto stamp = [&](MessageHeader& header) {
    header.slots_freed = told_.slots = freed.slots;
    header.granted = told_.window = freed.window;
  };
  while (!control_.empty() && room() > kReservedSlots) {
    Answer& answer = control_.front();
    stamp(answer.header);
    send_header(answer.header, answer.keys.data(), nullptr, false);
    control_.pop_front();
  }
  const bool due = freed.slots - told_.slots >= kSlotsWorthTelling ||
                   freed.window - told_.window >= kWindowWorthTelling ||
                   (freed.window != told_.window && freed.arrived - told_.window > kTightBytes);
  if (!due || room() == 0) return;
  MessageHeader header;
  stamp(header);
  send_header(header, nullptr, nullptr, false);
}

void Sender::take_counts(const MessageHeader& header) {
  // Counted without end: the later of two is ahead by less than half of the range.
  if (static_cast<std::int32_t>(header.slots_freed - peer_freed_) > 0)
    peer_freed_ = header.slots_freed;
  granted_ = std::max(granted_, header.granted);
}

// The data path that would be done with `bytes` more first: by what it has under way, and by the
// speed of its ports. One that stands still, or is not known to work since it was mended, only
// where there is no other.
std::size_t Sender::quickest(std::size_t bytes) const {
  constexpr double kWaits = 1e15;
  std::size_t best = 1;
  double best_time = 0;
  for (std::size_t i = 1; i < paths_.size(); ++i) {
    const Path& path = *paths_[i];
    double time =
        static_cast<double>(path.bytes_under_way() + bytes) / static_cast<double>(path.speed());
    if (!path.is_live() || !path.is_proven()) time += kWaits;
    if (i == 1 || time < best_time) {
      best = i;
      best_time = time;
    }
  }
  return best;
}

Status Sender::take_clear(const MessageHeader& header, std::span<const std::byte> keys) {
  if (header.send >= numbered_.size() || !numbered_[header.send]->live ||
      numbered_[header.send]->phase != Phase::asking || keys.size() > sizeof(Keys)) {
    return {Code::peer_lost, "the peer clears a message that was not announced"};
  }
  Send* send = numbered_[header.send];
  send->source = registrations_.find(send->memory);
  if (send->source == nullptr) {
    return {Code::invalid_argument, "memory was deregistered while it was being sent"};
  }
  send->phase = Phase::writing;
  send->address = header.address;
  send->keys = {};
  std::memcpy(send->keys.data(), keys.data(), keys.size());
  send->immediate = Immediate::unpack(header.immediate);
  send->at = 0;
  send->over = 0;
  if (send->bytes < 2 * kMinChunkBytes || paths_.size() == 2) {
    write_whole(send);
  } else {
    ++send->works;  // it is not done before all of it is given
    striped_.push_back(send);
    feed();
  }
  return {};
}

void Sender::feed() {
  while (!striped_.empty() && write_some(striped_.front())) {
    --striped_.front()->works;
    striped_.pop_front();
  }
}

bool Sender::write_some(Send* send) {
  const std::size_t chunk = std::min(chunk_for(send->bytes, paths_.size() - 1), max_write_bytes_);
  for (;;) {
    const std::size_t bytes = std::min(chunk, send->bytes - send->at);
    const std::size_t path = quickest(bytes);
    if (paths_[path]->bytes_under_way() >= kMaxUnderWayBytes) return false;
    send->over |= static_cast<std::uint16_t>(1u << (path - 1));
    if (send->at + bytes == send->bytes) {
      end_parts(send, path, bytes);
      return true;
    }
    write(send, path, bytes, false);
  }
}

// The last of the message goes over path `last`; each of the others that has some of it only tells
// so, behind that.
void Sender::end_parts(Send* send, std::size_t last, std::size_t bytes) {
  send->immediate.parts = static_cast<std::uint8_t>(std::popcount(send->over));
  send->immediate.part = 0;
  for (std::size_t path = 1; path < paths_.size(); ++path) {
    if ((send->over >> (path - 1) & 1) == 0) continue;
    write_last(send, path, path == last ? bytes : 0);
    ++send->immediate.part;
  }
}

void Sender::write_whole(Send* send) {
  const std::size_t path = quickest(send->bytes);
  while (send->bytes - send->at > max_write_bytes_) write(send, path, max_write_bytes_, false);
  write_last(send, path, send->bytes - send->at);
}

void Sender::write_last(Send* send, std::size_t path, std::size_t bytes) {
  if (bytes > 0 && send->bytes > told_apart_bytes_) {
    write(send, path, std::exchange(bytes, 0), false);
  }
  write(send, path, bytes, true);
}

// The next `bytes` of the message.
void Sender::write(Send* send, std::size_t path, std::size_t bytes, bool tells) {
  Work work;
  work.data = send->data + send->at;
  work.bytes = static_cast<std::uint32_t>(bytes);
  work.local_keys = &send->source->local_keys;
  work.remote_address = send->address + send->at;
  work.remote_keys = &send->keys;
  work.immediate = send->immediate.pack();
  work.tells = tells;
  work.signalled = tells || paths_.size() > 2;
  work.touchable = !send->source->device_memory;
  work.owner = send;
  send->at += bytes;
  ++send->works;
  sent_bytes_ += bytes;
  paths_[path]->give(work);
}

void Sender::work_done(const Work& work) {
  if (work.remote_address == 0) ++unstaged_;
  auto* send = static_cast<Send*>(work.owner);
  if (send != nullptr && --send->works == 0) finish(send);
}

void Sender::finish(Send* send) {
  Completion completion;
  completion.cookie = send->cookie;
  completion.count = 1;
  completion.bytes[0] = send->bytes;
  finished_.push(connection_, completion);
  forget(send);
}

void Sender::forget(Send* send) {
  // Not removing it would only keep the memory locked: nothing to do about a failure here.
  if (send->own_memory) static_cast<void>(registrations_.remove(send->memory));
  sends_.give_back(send);
}

void Sender::fail(const Status& status) {
  std::vector<Send*> left;
  sends_.for_each_live([&](Send& send) { left.push_back(&send); });
  std::ranges::sort(left, {}, &Send::order);
  for (Send* send : left) {
    finished_.push(connection_, {send->cookie, status, 0, {}});
    forget(send);
  }
  control_.clear();
  striped_.clear();
}

}  // namespace thinwire::transports::verbs
