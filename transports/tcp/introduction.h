// How a stream begins: the connecting side introduces itself with one fixed-size message, the
// listener answers with another. docs/wire_format.md, "Introduction". Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "transports/tcp/handle.h"

namespace thinwire::transports::tcp {

inline constexpr std::size_t kIntroductionBytes = 208;
inline constexpr std::size_t kReplyBytes = 32;
inline constexpr int kMaxStreams = 64;

using ConnectionId = Token;

struct Introduction {
  Token token{};
  ConnectionId connection{};
  std::uint8_t stream = 0;
  std::uint8_t stream_count = 1;
  std::uint64_t window_bytes = 0;  // what the connecting side can buffer
  std::string host_name;
  std::uint8_t hello_bytes = 0;
  std::array<std::byte, kMaxHelloBytes> hello{};
};

enum class Answer : std::uint8_t { welcome = 0, wrong_token = 1, wrong_version = 2, refused = 3 };

struct Reply {
  Answer answer = Answer::welcome;
  std::uint16_t version = kFormatVersion;
  std::uint64_t window_bytes = 0;  // what the accepting side can buffer
};

void encode_introduction(const Introduction& introduction,
                         std::span<std::byte, kIntroductionBytes> out);

// What the first kIntroductionPrefixBytes, the same in every version, say.
inline constexpr std::size_t kIntroductionPrefixBytes = 6;
enum class Prefix : std::uint8_t { ours, other_version, foreign };
Prefix introduction_prefix(std::span<const std::byte, kIntroductionPrefixBytes> in);

// Of our version. Code::invalid_argument: damaged.
Result<Introduction> decode_introduction(std::span<const std::byte, kIntroductionBytes> in);

void encode_reply(const Reply& reply, std::span<std::byte, kReplyBytes> out);
Result<Reply> decode_reply(std::span<const std::byte, kReplyBytes> in);

}  // namespace thinwire::transports::tcp
