// Frame: the message of the bootstrap, a kind and a text over one non-blocking socket.
// FrameReader keeps what has arrived between calls. Owner: Session; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perf/sockets.h"

namespace thinwire::perf {

enum class FrameKind : std::uint32_t { hello = 0x74776831, data, failure };

struct Frame {
  FrameKind kind = FrameKind::data;
  std::string text;
};

class FrameReader {
 public:
  enum class State { partial, complete, ended };
  // Reads what is there. ended: the peer closed, or sent something that is no frame.
  State poll(const Socket& socket);
  Frame& frame() { return frame_; }

 private:
  std::string header_;
  std::optional<std::uint32_t> length_;
  Frame frame_;
};

// Blocks until the frame is handed to the kernel; false: the peer is gone or the time is up.
bool send_frame(const Socket& socket, FrameKind kind, std::string_view text, Deadline deadline);

// Blocks for one frame; nullopt: the peer is gone or the time is up (`deadline` tells).
std::optional<Frame> receive_frame(const Socket& socket, Deadline deadline);

// Lists of texts inside one text.
std::string pack(const std::string* texts, std::size_t count);
std::optional<std::string> unpack_next(std::string_view& packed);

}  // namespace thinwire::perf
