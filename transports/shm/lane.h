// What two sides of a connection share: docs/wire_format.md, "Shared memory". A segment has a
// header and two lanes, one per direction. A lane has a queue of entries, one per message or part
// of one; chunks that hold the bytes; and a queue in which the receiver returns chunks. So messages
// may be taken in any order, and memory that was just read is written next, while it is cached.
//
// Each field has one writer. The other side is not trusted: whoever reads an entry copies and
// checks it. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thinwire::transports::shm {

inline constexpr std::uint32_t kSegmentMagic = 0x53485754;  // "TWHS" in memory
inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::size_t kCacheLineBytes = 64;

inline constexpr std::uint32_t kEntries = 1024;
inline constexpr std::uint32_t kSmallChunks = 256;
inline constexpr std::uint32_t kLargeChunks = 16;
inline constexpr std::uint32_t kChunks = kSmallChunks + kLargeChunks;
// Messages that lie in their sender's memory until the receiver has fetched them.
inline constexpr std::uint32_t kExposures = 64;
inline constexpr std::uint32_t kReturns = 512;
static_assert(kReturns >= kChunks + kExposures, "every return finds room");
inline constexpr std::size_t kSmallBytes = 4096;
// The Engine's pieces, and what codecs add to them.
inline constexpr std::size_t kLargeBytes = 132 * 1024;
// Streams that differ by a multiple of 4 KiB delay one another in the load and store buffers.
inline constexpr std::size_t kSmallStride = kSmallBytes + kCacheLineBytes;
inline constexpr std::size_t kLargeStride = kLargeBytes + 3 * kCacheLineBytes;

struct Entry {
  std::uint64_t tag = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t address = 0;  // exposed: where the bytes are in the sender's memory
  std::uint32_t bytes = 0;    // of this part
  std::uint32_t place = 0;    // a chunk, or kChunks + an exposure; unused where bytes is 0
};
static_assert(sizeof(Entry) == 32);
constexpr bool is_exposed(const Entry& entry) { return entry.place >= kChunks; }

inline constexpr const char* kPeerClosed = "the peer closed the connection";

// How a side has ended, after its last entry.
enum class End : std::uint32_t { open, closed, failed, too_long };

struct Lane {
  // Written by the sender.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> written;  // entries
  std::atomic<End> end;
  // Written by the receiver.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> taken;     // entries
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> returned;  // places
  // Why `end` is too_long, by the receiver of the other lane.
  std::atomic<std::uint64_t> message_bytes;
  std::atomic<std::uint64_t> buffer_bytes;
  alignas(kCacheLineBytes) std::array<Entry, kEntries> entries;
  alignas(kCacheLineBytes) std::array<std::atomic<std::uint32_t>, kReturns> returns;
  alignas(4096) std::byte small[kSmallChunks * kSmallStride];
  alignas(4096) std::byte large[kLargeChunks * kLargeStride];

  // Requires place < kChunks.
  std::byte* chunk(std::uint32_t place) {
    if (place < kSmallChunks) return small + place * kSmallStride;
    return large + (place - kSmallChunks) * kLargeStride;
  }
  // The chunk that begins at `data`, kChunks if none does.
  std::uint32_t chunk_at(const void* data) const {
    const auto* at = static_cast<const std::byte*>(data);
    if (at >= small && at < small + sizeof small) {
      return static_cast<std::uint32_t>(static_cast<std::size_t>(at - small) / kSmallStride);
    }
    if (at < large || at >= large + sizeof large) return kChunks;
    return kSmallChunks +
           static_cast<std::uint32_t>(static_cast<std::size_t>(at - large) / kLargeStride);
  }
};
constexpr std::size_t capacity_of(std::uint32_t place) {
  return place < kSmallChunks ? kSmallBytes : kLargeBytes;
}
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Each side: 0 the accepting one, which makes the segment, 1 the connecting one. A lane has the
// number of its sender.
struct Side {
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> sleeps;  // wants to be woken up
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> probe;   // address of a number in its memory
  std::atomic<std::uint32_t> may_read;  // it can read the other side's memory
};

struct SharedState {
  std::uint32_t magic;
  std::uint32_t version;
  std::array<Side, 2> sides;
  std::array<Lane, 2> lanes;
};

}  // namespace thinwire::transports::shm
