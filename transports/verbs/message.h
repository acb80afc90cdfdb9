// What the two ends of a connection send one another beside the payload: docs/wire_format.md,
// "RDMA verbs". Values; any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace thinwire::transports::verbs {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

enum class MessageKind : std::uint8_t {
  data = 1,     // a piece of an eager message
  request = 2,  // a message that is too long for that: may I write?
  clear = 3,    // write it here, with one of the keys that follow
  credit = 4,   // nothing but the two counts that every header has
};

// At the start of every receive slot.
struct MessageHeader {
  MessageKind kind = MessageKind::credit;
  std::uint8_t charged = 0;  // data: 1 when the message counts against the receiver's window
  std::uint16_t reserved = 0;
  std::uint32_t slots_freed = 0;    // by the sender, of its own, since the start
  std::uint64_t granted = 0;        // cost of all charged messages that left the sender's window
  std::uint64_t tag = 0;            // data, request
  std::uint64_t message_bytes = 0;  // data, request
  std::uint64_t address = 0;        // clear
  std::uint32_t offset = 0;         // data: of this piece in its message
  std::uint32_t piece_bytes = 0;    // that follow: of data, or the keys of a clear
  std::uint32_t reserved_key = 0;
  std::uint32_t send = 0;       // request, clear: the sender's number of the message
  std::uint32_t immediate = 0;  // clear: what its parts carry, see Immediate
  std::uint32_t reserved_too = 0;
};
static_assert(sizeof(MessageHeader) == 64);

// The immediate data of a part that was written. Parts are told apart by `part`, messages that
// used the same number one after the other by `generation`.
struct Immediate {
  std::uint16_t number = 0;     // the receiver's, of the message
  std::uint8_t generation = 0;  // the receiver's
  std::uint8_t part = 0;        // below `parts`
  std::uint8_t parts = 1;       // 1..16

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(generation) << 24 |
           static_cast<std::uint32_t>(parts - 1) << 20 | static_cast<std::uint32_t>(part) << 16 |
           number;
  }
  static Immediate unpack(std::uint32_t bits) {
    return {static_cast<std::uint16_t>(bits), static_cast<std::uint8_t>(bits >> 24),
            static_cast<std::uint8_t>(bits >> 16 & 15),
            static_cast<std::uint8_t>((bits >> 20 & 15) + 1)};
  }
};

// Every connection has as many receive slots on each side.
inline constexpr std::uint32_t kSlots = 64;
inline constexpr std::uint32_t kSlotBytes = 8192;
inline constexpr std::size_t kPieceBytes = kSlotBytes - sizeof(MessageHeader);
// Slots that only credit messages may use, so that both sides can always go on.
inline constexpr std::uint32_t kReservedSlots = 2;
// Longer messages, and those beyond the window, are written straight into their receive buffer.
inline constexpr std::size_t kMaxEagerBytes = 4 * kPieceBytes;
inline constexpr std::uint64_t kWindowBytes = 1024 * 1024;
// Messages that a receiver lets its peer write at the same time.
inline constexpr std::uint32_t kMaxWritten = 64;
// Data paths, beside the one for messages.
inline constexpr std::size_t kMaxDataPaths = 15;

// What a charged message costs of the window, so that small ones are bounded too.
constexpr std::uint64_t cost_of(std::size_t bytes) { return bytes + 64; }

}  // namespace thinwire::transports::verbs
