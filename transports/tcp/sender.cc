#include "transports/tcp/sender.h"

#include <algorithm>
#include <vector>

#include "transports/tcp/crc32c.h"

namespace thinwire::transports::tcp {

void Sender::set_window(std::uint64_t window_bytes) {
  window_bytes_ = window_bytes;
  // A peer grants in steps of a quarter window: a larger chunk could wait forever.
  const std::uint64_t most = std::max<std::uint64_t>(window_bytes / 4, 2 * kFrameHeaderBytes);
  chunk_bytes_ = std::min<std::size_t>(chunk_bytes_, most - kFrameHeaderBytes);
}

void Sender::post(const void* data, std::size_t bytes, std::uint64_t tag, std::uint64_t cookie) {
  OutMessage* message = messages_.take();
  message->data = static_cast<const std::byte*>(data);
  message->bytes = bytes;
  message->cut_bytes = 0;
  message->tag = tag;
  message->cookie = cookie;
  message->sequence = next_sequence_++;
  message->unsent_chunks = 0;
  uncut_.push_back(message);
}

bool Sender::has_chunk() {
  if (uncut_.empty()) return false;
  const OutMessage& message = *uncut_.front();
  const std::size_t want = std::min(chunk_bytes_, message.bytes - message.cut_bytes);
  return outstanding() + want + kFrameHeaderBytes <= window_bytes_;
}

OutFrame Sender::next_chunk(std::size_t limit_bytes) {
  OutMessage* message = uncut_.front();
  const std::size_t limit = limit_bytes == 0 ? chunk_bytes_ : std::min(limit_bytes, chunk_bytes_);
  OutFrame frame;
  frame.message = message;
  frame.payload = message->data + message->cut_bytes;
  frame.payload_bytes = std::min(limit, message->bytes - message->cut_bytes);
  FrameHeader header;
  header.chunk_bytes = static_cast<std::uint32_t>(frame.payload_bytes);
  header.sequence = message->sequence;
  header.tag = message->tag;
  header.total_bytes = message->bytes;
  header.offset = message->cut_bytes;
  if (checksum_payload_) {
    header.has_payload_crc = true;
    header.payload_crc = crc32c({frame.payload, frame.payload_bytes});
  }
  encode_frame(header, frame.header);
  message->cut_bytes += frame.payload_bytes;
  ++message->unsent_chunks;
  cut_cost_ += frame.payload_bytes + kFrameHeaderBytes;
  if (message->cut_bytes == message->bytes) uncut_.pop_front();
  return frame;
}

void Sender::chunk_sent(OutMessage* message) {
  if (--message->unsent_chunks > 0 || message->cut_bytes < message->bytes) return;
  payload_sent_ += message->bytes;
  ++messages_sent_;
  Completion done{message->cookie, {}, 1, {}};
  done.bytes[0] = message->bytes;
  completions_.push(done);
  messages_.give_back(message);
}

Status Sender::granted(std::uint64_t total_cost) {
  // Grants may overtake one another on different streams.
  if (total_cost > cut_cost_) return {Code::peer_lost, "the peer granted what was never sent"};
  granted_cost_ = std::max(granted_cost_, total_cost);
  return {};
}

void Sender::fail(const Status& status) {
  std::vector<const OutMessage*> left;
  messages_.for_each_live([&](const OutMessage& message) { left.push_back(&message); });
  std::ranges::sort(left, {}, &OutMessage::sequence);
  for (const OutMessage* message : left) completions_.push({message->cookie, status, 0, {}});
  messages_.for_each_live([&](OutMessage& message) { messages_.give_back(&message); });
  uncut_.clear();
}

}  // namespace thinwire::transports::tcp
