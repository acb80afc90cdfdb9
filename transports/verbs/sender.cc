#include "transports/verbs/sender.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::verbs {

namespace {

constexpr std::size_t kMaxOutstanding = 1024;
// A part is worth a queue pair of its own from this size on.
constexpr std::size_t kMinPartBytes = 256 * 1024;
constexpr std::size_t kPartAlignment = 4096;
constexpr std::uint32_t kSlotsWorthTelling = kSlots / 4;
constexpr std::uint64_t kWindowWorthTelling = kWindowBytes / 4;
// Of the window, as the peer knows it: from here on every change is worth telling.
constexpr std::uint64_t kTightBytes = kWindowBytes / 4 * 3;

std::uint32_t pieces_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(
      std::max<std::size_t>(1, (bytes + kPieceBytes - 1) / kPieceBytes));
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
    return send_pieces(send, header);
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
  return send_header(header, nullptr, nullptr, false);
}

Status Sender::send_pieces(Send* send, MessageHeader header) {
  header.kind = MessageKind::data;
  header.charged = 1;
  std::size_t at = 0;
  do {
    const std::size_t piece = std::min(kPieceBytes, send->bytes - at);
    header.offset = static_cast<std::uint32_t>(at);
    header.piece_bytes = static_cast<std::uint32_t>(piece);
    const bool last = at + piece == send->bytes;
    const Status status = send_header(header, send->data + at, send, last);
    if (!status.ok()) return status;
    at += piece;
  } while (at < send->bytes);
  return {};
}

Status Sender::send_header(const MessageHeader& header, const std::byte* piece, Send* owner,
                           bool signalled) {
  std::byte* slot = staging_.at(staged_++ % kSlots);
  std::memcpy(slot, &header, sizeof header);
  if (header.piece_bytes > 0) std::memcpy(slot + sizeof header, piece, header.piece_bytes);
  ++sent_;
  Work work;
  work.data = slot;
  work.bytes = static_cast<std::uint32_t>(sizeof header) + header.piece_bytes;
  work.local_key = staging_.local_key();
  work.signalled = signalled;
  work.owner = owner;
  if (owner != nullptr) ++owner->works;
  sent_bytes_ += work.bytes;
  return paths_[0]->give(work);
}

Status Sender::flush(const Freed& freed) {
  const auto stamp = [&](MessageHeader& header) {
    header.slots_freed = told_.slots = freed.slots;
    header.granted = told_.window = freed.window;
  };
  while (!control_.empty() && room() > kReservedSlots) {
    MessageHeader header = control_.front();
    control_.pop_front();
    stamp(header);
    if (const Status status = send_header(header, nullptr, nullptr, false); !status.ok())
      return status;
  }
  const bool due = freed.slots - told_.slots >= kSlotsWorthTelling ||
                   freed.window - told_.window >= kWindowWorthTelling ||
                   (freed.window != told_.window && freed.arrived - told_.window > kTightBytes);
  if (!due || room() == 0) return {};
  MessageHeader header;
  stamp(header);
  return send_header(header, nullptr, nullptr, false);
}

void Sender::take_counts(const MessageHeader& header) {
  // Counted without end: the later of two is ahead by less than half of the range.
  if (static_cast<std::int32_t>(header.slots_freed - peer_freed_) > 0)
    peer_freed_ = header.slots_freed;
  granted_ = std::max(granted_, header.granted);
}

Path& Sender::least_busy() const {
  const auto data = paths_.subspan(1);
  return **std::ranges::min_element(data, {}, [](const std::unique_ptr<Path>& path) {
    return path->bytes_under_way() + (path->is_live() ? 0 : std::size_t{1} << 50);
  });
}

Status Sender::take_clear(const MessageHeader& header) {
  if (header.send >= numbered_.size() || !numbered_[header.send]->live ||
      numbered_[header.send]->phase != Phase::asking) {
    return {Code::peer_lost, "the peer clears a message that was not announced"};
  }
  Send* send = numbered_[header.send];
  const Registered* source = registrations_.find(send->memory);
  if (source == nullptr) {
    return {Code::invalid_argument, "memory was deregistered while it was being sent"};
  }
  send->phase = Phase::writing;
  const std::size_t parts = std::clamp<std::size_t>(send->bytes / kMinPartBytes, 1,
                                                    std::min(paths_.size() - 1, kMaxDataPaths));
  const std::size_t share =
      (send->bytes / parts + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  Immediate immediate = Immediate::unpack(header.immediate);
  immediate.parts = static_cast<std::uint8_t>(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    immediate.part = static_cast<std::uint8_t>(part);
    const std::size_t to = part + 1 == parts ? send->bytes : (part + 1) * share;
    Path& path = parts == 1 ? least_busy() : *paths_[1 + part];
    const Status status = write_part(send, header, *source, path, immediate, part * share, to);
    if (!status.ok()) return status;
  }
  return {};
}

Status Sender::write_part(Send* send, const MessageHeader& clear, const Registered& source,
                          Path& path, const Immediate& immediate, std::size_t from,
                          std::size_t to) {
  while (from < to) {
    const std::size_t bytes = std::min(to - from, max_write_bytes_);
    Work work;
    work.data = send->data + from;
    work.bytes = static_cast<std::uint32_t>(bytes);
    work.local_key = source.local_key;
    work.remote_address = clear.address + from;
    work.remote_key = clear.remote_key;
    work.immediate = immediate.pack();
    from += bytes;
    work.tells = work.signalled = from == to;
    work.owner = send;
    ++send->works;
    sent_bytes_ += bytes;
    if (const Status status = path.give(work); !status.ok()) return status;
  }
  return {};
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
}

}  // namespace thinwire::transports::verbs
