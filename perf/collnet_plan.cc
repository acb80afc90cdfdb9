#include "perf/collnet_plan.h"

#include <algorithm>

namespace thinwire::perf {
namespace {

constexpr std::size_t kLargestChunk = 512 << 10;

// The range of the whole vector that one call covers.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t bytes() const { return end > begin ? end - begin : 0; }
};

Range clip(Range range, std::size_t begin, std::size_t end) {
  return {std::clamp(range.begin, begin, end), std::clamp(range.end, begin, end)};
}

std::size_t vector_bytes(const CollNetParameters& p) {
  return p.collective == Collective::all_reduce ? p.bytes
                                                : p.bytes * static_cast<std::size_t>(p.ranks);
}

// The call for `range` of the vector, which may reach past its end; no call for an empty window.
void add_call(const CollNetParameters& p, Range range, CollNetCall call,
              std::vector<CollNetCall>& calls) {
  const Range valid = clip(range, 0, vector_bytes(p));
  if (p.collective == Collective::all_reduce) {
    call.send_offset = call.recv_offset = range.begin;
    call.send_bytes = call.recv_bytes = valid.bytes();
    call.call_bytes = range.bytes();
    calls.push_back(call);
    return;
  }
  if (valid.bytes() == 0) return;
  const std::size_t slice = static_cast<std::size_t>(p.rank) * p.bytes;
  const Range own = clip(valid, slice, slice + p.bytes);
  call.window = {p.bytes, valid.begin, valid.bytes()};
  const bool gathers = p.collective == Collective::all_gather;
  (gathers ? call.send_offset : call.recv_offset) = own.begin - slice;
  (gathers ? call.send_bytes : call.recv_bytes) = own.bytes();
  (gathers ? call.recv_offset : call.send_offset) = valid.begin;
  (gathers ? call.recv_bytes : call.send_bytes) = valid.bytes();
  calls.push_back(call);
}

std::vector<CollNetCall> registered_plan(const CollNetParameters& p) {
  // Whole elements of every type, and never so much that a call's end overflows.
  const std::size_t largest = std::max<std::size_t>(p.max_call_bytes / 64 * 64, 64);
  const std::size_t total = vector_bytes(p);
  std::vector<CollNetCall> calls;
  for (std::size_t at = 0; at < total;) {
    const std::size_t size = std::min(largest, total - at);
    add_call(p, {at, at + size}, {}, calls);
    at += size;
  }
  return calls;
}

}  // namespace

std::size_t chunk_of(std::size_t bytes, int channels) {
  // enqueue.cc, CollnetDirect with one head: depth 1.
  std::size_t chunk = kLargestChunk;
  const auto chunks = [&] { return bytes / (static_cast<std::size_t>(channels) * chunk); };
  while (chunks() < 64 && chunk > 131072) chunk /= 2;
  while (chunks() < 8 && chunk > 32768) chunk /= 2;
  return chunk;
}

std::vector<CollNetCall> collnet_plan(const CollNetParameters& p) {
  if (p.registered) return registered_plan(p);
  const std::size_t total = vector_bytes(p);
  const std::size_t chunk = p.chunk_bytes != 0 ? p.chunk_bytes : chunk_of(total, p.channels);
  const std::size_t channels = static_cast<std::size_t>(p.channels);
  const std::size_t step_bytes = channels * chunk;
  std::vector<CollNetCall> calls;
  std::size_t step = 0;
  for (std::size_t at = 0; at < total; at += step_bytes, ++step) {
    for (std::size_t first = 0; first < channels; first += kGroupChannels) {
      const std::size_t last = std::min<std::size_t>(channels, first + kGroupChannels);
      CollNetCall call;
      call.group = static_cast<int>(first / kGroupChannels);
      call.staging_offset = (step % kStepsInFlight * channels + first) * chunk;
      add_call(p, {at + first * chunk, at + last * chunk}, call, calls);
    }
  }
  return calls;
}

std::size_t staging_bytes(int channels, std::size_t largest_chunk) {
  return kStepsInFlight * static_cast<std::size_t>(channels) *
         std::max(largest_chunk, kLargestChunk);
}

}  // namespace thinwire::perf
