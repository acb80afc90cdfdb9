#include "perf/frame.h"

#include <poll.h>

#include <cstring>

namespace thinwire::perf {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint32_t kMaxText = 64u << 20;

bool is_kind(std::uint32_t kind) {
  return kind >= static_cast<std::uint32_t>(FrameKind::hello) &&
         kind <= static_cast<std::uint32_t>(FrameKind::failure);
}

// Appends up to `missing` bytes; false at the end of the stream.
bool append(const Socket& socket, std::string& text, std::size_t missing) {
  const std::size_t had = text.size();
  text.resize(had + missing);
  const std::ptrdiff_t got = try_recv(socket, text.data() + had, missing);
  text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
  return got >= 0;
}

void wait_for(const Socket& socket, short events, Deadline deadline) {
  pollfd wait{socket.fd(), events, 0};
  ::poll(&wait, 1, deadline.poll_ms(1000));
}

}  // namespace

FrameReader::State FrameReader::poll(const Socket& socket) {
  if (!length_) {
    if (header_.size() < kHeaderBytes && !append(socket, header_, kHeaderBytes - header_.size())) {
      return State::ended;
    }
    if (header_.size() < kHeaderBytes) return State::partial;
    std::uint32_t words[2];
    std::memcpy(words, header_.data(), sizeof words);
    if (!is_kind(words[0]) || words[1] > kMaxText) return State::ended;
    frame_.kind = static_cast<FrameKind>(words[0]);
    length_ = words[1];
  }
  const std::size_t missing = *length_ - frame_.text.size();
  if (missing > 0 && !append(socket, frame_.text, missing)) return State::ended;
  return frame_.text.size() == *length_ ? State::complete : State::partial;
}

bool send_frame(const Socket& socket, FrameKind kind, std::string_view text, Deadline deadline) {
  const std::uint32_t words[2] = {static_cast<std::uint32_t>(kind),
                                  static_cast<std::uint32_t>(text.size())};
  std::string bytes(reinterpret_cast<const char*>(words), sizeof words);
  bytes += text;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::ptrdiff_t sent = try_send(socket, bytes.data() + done, bytes.size() - done);
    if (sent < 0 || deadline.passed()) return false;
    if (sent == 0) wait_for(socket, POLLOUT, deadline);
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

std::optional<Frame> receive_frame(const Socket& socket, Deadline deadline) {
  FrameReader reader;
  for (;;) {
    switch (reader.poll(socket)) {
      case FrameReader::State::complete:
        return std::move(reader.frame());
      case FrameReader::State::ended:
        return std::nullopt;
      case FrameReader::State::partial:
        break;
    }
    if (deadline.passed()) return std::nullopt;
    wait_for(socket, POLLIN, deadline);
  }
}

std::string pack(const std::string* texts, std::size_t count) {
  std::string packed;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::uint32_t>(texts[i].size());
    packed.append(reinterpret_cast<const char*>(&length), sizeof length);
    packed += texts[i];
  }
  return packed;
}

std::optional<std::string> unpack_next(std::string_view& packed) {
  std::uint32_t length = 0;
  if (packed.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, packed.data(), sizeof length);
  if (packed.size() - sizeof length < length) return std::nullopt;
  std::string text(packed.substr(sizeof length, length));
  packed.remove_prefix(sizeof length + length);
  return text;
}

}  // namespace thinwire::perf
