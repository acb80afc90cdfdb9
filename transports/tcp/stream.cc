#include "transports/tcp/stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transports/tcp/crc32c.h"

namespace thinwire::transports::tcp {

namespace {
constexpr std::size_t kStagingBytes = 64 * 1024;
// From here on a system call of its own is cheaper than copying the payload once more.
constexpr std::size_t kBulkBytes = 16 * 1024;
constexpr std::size_t kFramesPerCall = 64;

constexpr std::int64_t kPatienceNs = 20'000;
constexpr std::int64_t kWithoutPatienceNs = 1'000'000;
constexpr int kMaxLooks = 64;  // where the clock stands still

bool is_retry(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }
}  // namespace

bool Patience::allows_waiting(std::int64_t now_ns) {
  if (now_ns < exhausted_until_ns_) return false;
  if (since_ns_ < 0) {
    since_ns_ = now_ns;
    looks_ = 0;
  }
  if (now_ns - since_ns_ < kPatienceNs && ++looks_ < kMaxLooks) return true;
  since_ns_ = -1;
  exhausted_until_ns_ = now_ns + kWithoutPatienceNs;
  return false;
}

Stream::Stream(UniqueFd fd)
    : fd_(std::move(fd)), staging_(std::make_unique_for_overwrite<std::byte[]>(kStagingBytes)) {}

void Stream::push(const OutFrame& frame) {
  queued_bytes_ += kFrameHeaderBytes + frame.payload_bytes;
  frames_.push_back(frame);
}

void Stream::push_control(const FrameHeader& header) {
  OutFrame frame;
  encode_frame(header, frame.header);
  queued_bytes_ += kFrameHeaderBytes;
  if (front_sent_ == 0) {
    frames_.push_front(frame);
    return;
  }
  const OutFrame under_way = frames_.front();
  frames_.front() = frame;
  frames_.push_front(under_way);
}

void Stream::drop_unsent() {
  const std::size_t keep = front_sent_ > 0 ? 1 : 0;
  while (frames_.size() > keep) frames_.pop_back();
  queued_bytes_ = keep == 0 ? 0 : kFrameHeaderBytes + frames_.front().payload_bytes - front_sent_;
}

Status Stream::flush(std::vector<OutMessage*>& sent) {
  while (has_queued()) {
    iovec parts[2 * kFramesPerCall];
    std::size_t count = 0;
    std::size_t asked = 0;
    std::size_t skip = front_sent_;
    const auto add = [&](const std::byte* data, std::size_t bytes) {
      const std::size_t skipped = std::min(skip, bytes);
      skip -= skipped;
      if (bytes == skipped) return;
      parts[count++] = {const_cast<std::byte*>(data) + skipped, bytes - skipped};
      asked += bytes - skipped;
    };
    for (std::size_t i = 0; i < std::min(frames_.size(), kFramesPerCall); ++i) {
      add(frames_[i].header.data(), kFrameHeaderBytes);
      add(frames_[i].payload, frames_[i].payload_bytes);
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      blocked_ = is_retry(errno);
      if (blocked_) return {};
      if (errno == EPIPE || errno == ECONNRESET) {
        write_broken_ = true;
        readable = hung_up = true;
        return {};
      }
      return {Code::peer_lost, "sending to the peer failed", errno};
    }
    account_sent(static_cast<std::size_t>(n), sent);
    blocked_ = static_cast<std::size_t>(n) < asked;
    if (blocked_) return {};
  }
  return {};
}

void Stream::account_sent(std::size_t bytes, std::vector<OutMessage*>& sent) {
  bytes_sent_ += bytes;
  queued_bytes_ -= bytes;
  front_sent_ += bytes;
  while (!frames_.empty()) {
    const OutFrame& frame = frames_.front();
    const std::size_t size = kFrameHeaderBytes + frame.payload_bytes;
    if (front_sent_ < size) return;
    front_sent_ -= size;
    if (frame.message != nullptr) sent.push_back(frame.message);
    frames_.pop_front();
  }
}

std::size_t Stream::kernel_backlog() const {
  int bytes = 0;
  return ::ioctl(fd_.get(), SIOCOUTQNSD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes)
                                                                   : 0;
}

// How much to read beyond the current chunk. In bulk only the next header, so that the payload
// after it is read in place.
std::size_t Stream::wanted_staging() const {
  return bulk_ ? kFrameHeaderBytes - (staged_to_ - staged_from_) : kStagingBytes - staged_to_;
}

Status Stream::read(FrameSink& sink, std::size_t budget_bytes) {
  if (deferred_) {
    const Status status = parse(sink);
    if (!status.ok() || deferred_) return status;
  }
  for (std::size_t total = 0; total < budget_bytes;) {
    iovec parts[2];
    std::size_t count = 0;
    std::size_t payload = 0;
    if (chunk_) {
      payload = chunk_->header.chunk_bytes - chunk_->filled_bytes;
      parts[count++] = {chunk_->landing.at + chunk_->filled_bytes, payload};
    }
    const std::size_t beyond = wanted_staging();
    parts[count++] = {staging_.get() + staged_to_, beyond};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
    if (n == 0) return {Code::peer_lost, "the peer's socket was closed"};
    if (n < 0) {
      if (is_retry(errno)) return Status::would_block();
      return {Code::peer_lost, "the connection to the peer broke", errno};
    }
    const auto got = static_cast<std::size_t>(n);
    total += got;
    bytes_received_ += got;
    if (chunk_) chunk_->filled_bytes += std::min(got, payload);
    staged_to_ += got - std::min(got, payload);
    const Status status = parse(sink);
    if (!status.ok() || deferred_) return status;
    if (got < payload + beyond) return Status::would_block();
  }
  return {};
}

Status Stream::parse(FrameSink& sink) {
  deferred_ = false;
  while (!deferred_) {
    if (chunk_) {
      take_staged_payload();
      if (chunk_->filled_bytes < chunk_->header.chunk_bytes) break;
      const Status status = end_chunk(sink);
      if (!status.ok()) return status;
    }
    if (staged_to_ - staged_from_ < kFrameHeaderBytes) break;
    const Status status = begin_frame(sink);
    if (!status.ok()) return status;
  }
  const std::size_t left = staged_to_ - staged_from_;
  if (left > 0 && staged_from_ > 0) {
    std::memmove(staging_.get(), staging_.get() + staged_from_, left);
  }
  staged_from_ = 0;
  staged_to_ = left;
  return {};
}

void Stream::take_staged_payload() {
  const std::size_t bytes =
      std::min(staged_to_ - staged_from_, chunk_->header.chunk_bytes - chunk_->filled_bytes);
  if (bytes == 0) return;
  std::memcpy(chunk_->landing.at + chunk_->filled_bytes, staging_.get() + staged_from_, bytes);
  chunk_->filled_bytes += bytes;
  staged_from_ += bytes;
}

Status Stream::begin_frame(FrameSink& sink) {
  const std::span<const std::byte, kFrameHeaderBytes> bytes(staging_.get() + staged_from_,
                                                            kFrameHeaderBytes);
  const std::optional<FrameHeader> header = decode_frame(bytes);
  if (!header) return {Code::peer_lost, "a frame header from the peer is damaged"};
  if (header->type == FrameType::chunk && sink.defers(*header)) {
    deferred_ = true;
    return {};
  }
  staged_from_ += kFrameHeaderBytes;
  if (header->type != FrameType::chunk) return sink.control_arrived(*header);
  bulk_ = header->chunk_bytes >= kBulkBytes;
  Result<Landing> landing = sink.chunk_begins(*header);
  if (!landing.ok()) return landing.status();
  chunk_ = InChunk{*header, landing.value(), 0};
  return {};
}

Status Stream::end_chunk(FrameSink& sink) {
  const InChunk done = *chunk_;
  chunk_.reset();
  if (done.header.has_payload_crc &&
      crc32c({done.landing.at, done.header.chunk_bytes}) != done.header.payload_crc) {
    return {Code::peer_lost, "a payload from the peer is damaged"};
  }
  sink.chunk_ended(done.header, done.landing);
  return {};
}

}  // namespace thinwire::transports::tcp
