// The part of TcpConnection that moves bytes.
#include <algorithm>

#include "transports/tcp/connection.h"

namespace thinwire::transports::tcp {

namespace {
// Frames wait here rather than in the kernel, where control frames could not overtake them.
constexpr std::size_t kQueueBytes = 1024 * 1024;
constexpr std::size_t kFlushBytes = 64 * 1024;
// Of one poll and stream, so that one busy peer does not starve the others.
constexpr std::size_t kReadBudgetBytes = 1024 * 1024;
}  // namespace

void TcpConnection::write(std::int64_t now_ns) {
  control_queued_ = false;
  grant_if_due();
  if (streams_.size() == 1)
    write_single();
  else
    write_striped(now_ns);
}

// In steps of a quarter window: often enough that the sender does not run dry, rarely enough to
// cost nothing.
void TcpConnection::grant_if_due() {
  if (receiver_.taken() - granted_ < state_.settings.window_bytes() / 4) return;
  granted_ = receiver_.taken();
  FrameHeader header{.type = FrameType::grant};
  header.total_bytes = granted_;
  send_control(header);
}

void TcpConnection::send_control(const FrameHeader& header) {
  const std::size_t index = streams_.size() == 1 ? 0 : striping_.quickest();
  streams_[index]->push_control(header);
  striping_.handed(index, state_.settings.clock.now_ns(), kFrameHeaderBytes);
  control_queued_ = true;
  state_.events.announce_work();
}

void TcpConnection::write_single() {
  Stream& stream = *streams_.front();
  for (;;) {
    while (stream.queued_bytes() < kQueueBytes && sender_.has_chunk()) {
      stream.push(sender_.next_chunk(0));
    }
    if (!stream.has_queued()) return;
    const Status status = flush(stream);
    if (!status.ok()) return fail(status);
    if (stream.is_blocked() || !sender_.has_chunk()) return;
  }
}

void TcpConnection::observe_streams(std::int64_t now_ns) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = *streams_[i];
    if (!striping_.is_worth_observing(i, now_ns)) continue;
    striping_.observe(i, now_ns, stream.bytes_sent() + stream.queued_bytes(),
                      stream.kernel_backlog() + stream.queued_bytes());
  }
}

void TcpConnection::write_striped(std::int64_t now_ns) {
  observe_streams(now_ns);
  const auto chunk_bytes = static_cast<std::size_t>(state_.settings.config.tcp_chunk_bytes);
  while (sender_.has_chunk()) {
    const auto choice = striping_.choose(now_ns, chunk_bytes);
    if (!choice) {
      more_work_ = true;  // no event tells that a socket drained
      break;
    }
    Stream& stream = *streams_[choice->stream];
    // Waiting for the stream that is through first beats giving the chunk to another.
    if (stream.is_blocked() && stream.has_queued()) break;
    const OutFrame frame = sender_.next_chunk(choice->limit_bytes);
    striping_.handed(choice->stream, now_ns, frame.payload_bytes + kFrameHeaderBytes);
    stream.push(frame);
    if (stream.queued_bytes() < kFlushBytes) continue;
    const Status status = flush(stream);
    if (!status.ok()) return fail(status);
  }
  for (auto& stream : streams_) {
    const Status status = flush(*stream);
    if (!status.ok()) return fail(status);
  }
}

Status TcpConnection::flush(Stream& stream) {
  if (!stream.has_queued()) return {};
  sent_.clear();
  const Status status = stream.flush(sent_);
  for (OutMessage* message : sent_) sender_.chunk_sent(message);
  return status;
}

void TcpConnection::read(std::int64_t now_ns) {
  reading_at_ns_ = now_ns;
  for (auto& stream : streams_) {
    if (!stream->readable || stream->ended) continue;
    reading_ = stream.get();
    const std::uint64_t before = stream->bytes_received();
    const Status status = stream->read(*this, kReadBudgetBytes);
    if (stream->bytes_received() != before) heartbeat_.heard(now_ns);
    if (status.is_would_block()) {
      stream->readable = stream->hung_up;
    } else if (status.ok()) {
      more_work_ = true;
    } else {
      stream_ended(*stream, status);
      if (failure_.failed()) return;
    }
  }
}

void TcpConnection::stream_ended(Stream& stream, const Status& status) {
  if (status.code() == Code::invalid_argument && receiver_.oversize().message_bytes > 0) {
    return fail_telling_the_peer(status);
  }
  if (!stream.peer_said_bye) return fail(status);
  stream.ended = true;
  const bool all_ended =
      std::ranges::all_of(streams_, [](const auto& each) { return each->ended; });
  closed_by_peer_ = all_ended;
  end_unless_useful();
}

// What the peer sent before it closed is here, and its receives may come yet.
void TcpConnection::end_unless_useful() {
  if (!closed_by_peer_ || failure_.failed()) return;
  const bool useful =
      receiver_.holds_messages() && receiver_.posted_groups() == 0 && sender_.idle();
  if (!useful) fail({Code::peer_lost, kPeerClosed});
}

bool TcpConnection::defers(const FrameHeader& header) {
  if (receiver_.would_wait(header)) return reading_->patience.allows_waiting(reading_at_ns_);
  reading_->patience.satisfied();
  return false;
}

Result<Landing> TcpConnection::chunk_begins(const FrameHeader& header) {
  return receiver_.chunk_begins(header);
}

void TcpConnection::chunk_ended(const FrameHeader& header, const Landing& landing) {
  receiver_.chunk_ended(header, landing);
}

Status TcpConnection::control_arrived(const FrameHeader& header) {
  switch (header.type) {
    case FrameType::grant:
      return sender_.granted(header.total_bytes);
    case FrameType::ping:
      send_control({.type = FrameType::pong});
      return {};
    case FrameType::bye:
      reading_->peer_said_bye = true;
      return {};
    case FrameType::error:
      if (header.offset == static_cast<std::uint64_t>(Code::invalid_argument)) {
        return {Code::invalid_argument, "a message was longer than the peer's receive buffer"};
      }
      return {Code::peer_lost, "the peer failed the connection"};
    case FrameType::pong:
    case FrameType::chunk:
      return {};
  }
  return {};
}

}  // namespace thinwire::transports::tcp
