#include "perf/ring_plan.h"

#include <algorithm>

namespace thinwire::perf {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kSlicesPerChunk = 2;
constexpr std::size_t kMinSliceShare = 32;  // a slice is at least the largest one / 32

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Emits the slices of one ring step after another.
class Builder {
 public:
  explicit Builder(const RingParameters& p) : p_(p) {}

  std::vector<RingSlice> build() {
    const std::size_t ranks = static_cast<std::size_t>(p_.ranks);
    const std::size_t largest = kSlicesPerChunk * p_.slice_bytes;
    const bool whole = p_.collective == Collective::all_reduce;
    for (std::size_t at = p_.channel_begin; at < p_.channel_end;) {
      const std::size_t left = p_.channel_end - at;
      const std::size_t per_rank = whole ? (left + ranks - 1) / ranks : left;
      loop_begin_ = at;
      chunk_ = std::min(largest, round_up(per_rank, kAlignment));
      emit_loop();
      at += chunk_ * (whole ? ranks : 1);
    }
    return std::move(slices_);
  }

 private:
  void emit_loop() {
    switch (p_.collective) {
      case Collective::all_reduce:
        return emit_all_reduce();
      case Collective::all_gather:
        return emit_all_gather();
      case Collective::reduce_scatter:
        return emit_reduce_scatter();
      case Collective::send_recv:
        return;
    }
  }

  void emit_all_reduce() {
    step({.input = true, .send = true}, -1);
    for (int k = 2; k < p_.ranks; ++k) step({.recv = true, .input = true, .send = true}, -k);
    step({.recv = true, .input = true, .output = true, .send = true, .last_reduction = true}, 0);
    for (int k = 1; k < p_.ranks - 1; ++k) step({.recv = true, .output = true, .send = true}, -k);
    step({.recv = true, .output = true}, 1);
  }

  void emit_all_gather() {
    step({.input = true, .output = true, .send = true}, 0);
    for (int k = 1; k < p_.ranks - 1; ++k) step({.recv = true, .output = true, .send = true}, -k);
    step({.recv = true, .output = true}, 1);
  }

  void emit_reduce_scatter() {
    step({.input = true, .send = true}, -1);
    for (int k = 2; k < p_.ranks; ++k) step({.recv = true, .input = true, .send = true}, -k);
    step({.recv = true, .input = true, .output = true, .last_reduction = true}, 0);
  }

  // Where the chunk of rank + `distance` starts in the send and receive buffers, and its size.
  void step(RingSlice slice, int distance) {
    const auto owner = static_cast<std::size_t>((p_.rank + distance + p_.ranks) % p_.ranks);
    std::size_t begin = loop_begin_;
    slice.input_offset = slice.output_offset = begin;
    if (p_.collective == Collective::all_reduce) {
      begin += owner * chunk_;
      slice.input_offset = slice.output_offset = begin;
    } else if (p_.collective == Collective::all_gather) {
      slice.output_offset += owner * p_.bytes;
    } else {
      slice.input_offset += owner * p_.bytes;
    }
    const std::size_t end = std::min(begin + chunk_, p_.channel_end);
    emit_slices(slice, end > begin ? end - begin : 0);
  }

  void emit_slices(RingSlice slice, std::size_t bytes) {
    const std::size_t half = round_up((bytes + kSlicesPerChunk - 1) / kSlicesPerChunk, kAlignment);
    const std::size_t size = std::max(half, round_up(p_.slice_bytes / kMinSliceShare, kAlignment));
    for (std::size_t done = 0; done < bytes; done += slice.bytes) {
      slice.bytes = std::min({size, p_.slice_bytes, bytes - done});
      slices_.push_back(slice);
      slice.input_offset += slice.bytes;
      slice.output_offset += slice.bytes;
    }
  }

  const RingParameters& p_;
  std::vector<RingSlice> slices_;
  std::size_t loop_begin_ = 0;
  std::size_t chunk_ = 0;
};

}  // namespace

std::vector<RingSlice> ring_plan(const RingParameters& parameters) {
  return Builder(parameters).build();
}

Share channel_share(std::size_t bytes, int index, int channels) {
  const std::size_t each = round_up(
      (bytes + static_cast<std::size_t>(channels) - 1) / static_cast<std::size_t>(channels),
      kAlignment);
  const std::size_t begin = std::min(bytes, each * static_cast<std::size_t>(index));
  return {begin, std::min(bytes, begin + each)};
}

}  // namespace thinwire::perf
