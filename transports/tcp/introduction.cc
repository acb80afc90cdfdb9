#include "transports/tcp/introduction.h"

#include <algorithm>

#include "transports/tcp/wire.h"

namespace thinwire::transports::tcp {

namespace {

constexpr std::uint32_t kIntroductionMagic = 0x49495754;  // "TWII"
constexpr std::uint32_t kReplyMagic = 0x52495754;         // "TWIR"

// The first six bytes are the same in every version.
enum Offset : std::size_t {
  kMagicAt = 0,
  kVersionAt = 4,
  kStreamAt = 6,
  kStreamCountAt = 7,
  kTokenAt = 8,
  kConnectionAt = 24,
  kWindowAt = 40,
  kHelloBytesAt = 48,
  kHelloAt = 56,
  kHostNameAt = 120,
  kAnswerAt = 6,
  kReplyWindowAt = 8,
};
static_assert(kHostNameAt + kMaxHostNameBytes <= kIntroductionBytes - 4);

}  // namespace

void encode_introduction(const Introduction& introduction,
                         std::span<std::byte, kIntroductionBytes> out) {
  std::ranges::fill(out, std::byte{0});
  put(out, kMagicAt, kIntroductionMagic);
  put(out, kVersionAt, kFormatVersion);
  put(out, kStreamAt, introduction.stream);
  put(out, kStreamCountAt, introduction.stream_count);
  put(out, kTokenAt, introduction.token);
  put(out, kConnectionAt, introduction.connection);
  put(out, kWindowAt, introduction.window_bytes);
  put(out, kHelloBytesAt, introduction.hello_bytes);
  put(out, kHelloAt, introduction.hello);
  std::memcpy(out.data() + kHostNameAt, introduction.host_name.data(),
              std::min(introduction.host_name.size(), kMaxHostNameBytes));
  seal(out);
}

Prefix introduction_prefix(std::span<const std::byte, kIntroductionPrefixBytes> in) {
  if (get<std::uint32_t>(in, kMagicAt) != kIntroductionMagic) return Prefix::foreign;
  return get<std::uint16_t>(in, kVersionAt) == kFormatVersion ? Prefix::ours
                                                              : Prefix::other_version;
}

Result<Introduction> decode_introduction(std::span<const std::byte, kIntroductionBytes> in) {
  Introduction introduction;
  introduction.stream = get<std::uint8_t>(in, kStreamAt);
  introduction.stream_count = get<std::uint8_t>(in, kStreamCountAt);
  introduction.token = get<Token>(in, kTokenAt);
  introduction.connection = get<ConnectionId>(in, kConnectionAt);
  introduction.window_bytes = get<std::uint64_t>(in, kWindowAt);
  introduction.hello_bytes = get<std::uint8_t>(in, kHelloBytesAt);
  introduction.hello = get<std::array<std::byte, kMaxHelloBytes>>(in, kHelloAt);
  const char* name = reinterpret_cast<const char*>(in.data() + kHostNameAt);
  introduction.host_name.assign(name, ::strnlen(name, kMaxHostNameBytes));
  if (introduction_prefix(in.first<kIntroductionPrefixBytes>()) != Prefix::ours || !is_sealed(in) ||
      introduction.stream_count == 0 || introduction.stream_count > kMaxStreams ||
      introduction.stream >= introduction.stream_count ||
      introduction.hello_bytes > kMaxHelloBytes || introduction.window_bytes == 0) {
    return Status(Code::invalid_argument, "a damaged introduction");
  }
  return introduction;
}

void encode_reply(const Reply& reply, std::span<std::byte, kReplyBytes> out) {
  std::ranges::fill(out, std::byte{0});
  put(out, kMagicAt, kReplyMagic);
  put(out, kVersionAt, reply.version);
  put(out, kAnswerAt, reply.answer);
  put(out, kReplyWindowAt, reply.window_bytes);
  seal(out);
}

Result<Reply> decode_reply(std::span<const std::byte, kReplyBytes> in) {
  if (get<std::uint32_t>(in, kMagicAt) != kReplyMagic) {
    return Status(Code::peer_lost, "the peer's listener is no Thinwire");
  }
  Reply reply;
  reply.version = get<std::uint16_t>(in, kVersionAt);
  if (reply.version != kFormatVersion) {
    return Status(Code::peer_lost, "the peer's Thinwire speaks another version of the TCP format",
                  reply.version);
  }
  reply.answer = get<Answer>(in, kAnswerAt);
  reply.window_bytes = get<std::uint64_t>(in, kReplyWindowAt);
  if (!is_sealed(in)) return Status(Code::peer_lost, "the peer's answer is damaged");
  switch (reply.answer) {
    case Answer::welcome:
      if (reply.window_bytes > 0) return reply;
      break;
    case Answer::wrong_token:
      return Status(Code::peer_lost, "the peer's listener does not know this handle's token");
    case Answer::wrong_version:
      return Status(Code::peer_lost, "the peer refused this version of the TCP format");
    case Answer::refused:
      break;
  }
  return Status(Code::peer_lost, "the peer refused the connection");
}

}  // namespace thinwire::transports::tcp
