#include "collectives/staging.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "collectives/geometry.h"
#include "collectives/schedules/relay.h"

namespace thinwire::collectives {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kSparsePieces = 8;

// Regions start on cache lines, and not all at the same offset within a page: streams that differ
// by a multiple of 4 KiB delay one another in the load and store buffers.
std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine + 3 * kCacheLine;
}

bool runs_with(Arithmetic arithmetic, DataType type) {
  const bool wide = accumulator_type(type) != type;
  if (wide != is_widened(arithmetic)) return false;
  if (!is_lossy(arithmetic)) return true;
  return type == DataType::float32 || element_bytes(type) == 2;
}

bool has_even_hosts(const Layout& layout) {
  std::vector<int> sizes(static_cast<std::size_t>(layout.hosts()));
  for (const int host : layout.host_of) ++sizes[static_cast<std::size_t>(host)];
  return std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
}

}  // namespace

Strides strides_for(const CodecSet& codecs, Arithmetic arithmetic, DataType type,
                    std::size_t tile_elements) {
  std::size_t wire = tile_elements * element_bytes(type);
  if (is_lossy(arithmetic)) {
    wire = codecs.max_encoded_bytes(tile_elements, type);
  }
  return {round_up(wire), round_up(tile_elements * element_bytes(accumulator_type(type)))};
}

Regions regions_for(ScheduleKind kind, Arithmetic arithmetic, const Layout& layout) {
  const auto n = static_cast<std::size_t>(layout.ranks());
  switch (kind) {
    case ScheduleKind::ring:
      return {n, 1};
    case ScheduleKind::direct:
      // Contributions; and what goes out, where that is not simply the input.
      return {is_lossy(arithmetic) ? 2 * n : n, 1};
    case ScheduleKind::exchange:
      // What goes out, and contributions to two pieces.
      return {3 * n, 2};
    case ScheduleKind::grid:
    case ScheduleKind::tree:
      return {2 * n, kRelayAccumulators};
    default:
      // A rank takes what all others of its host send for the pieces it stands for, one in L; a few
      // more where hosts differ.
      return {(has_even_hosts(layout) ? 2 : 4) * n, kRelayAccumulators};
  }
}

std::size_t bounded_piece_bytes(const Choice& choice, const Layout& layout, bool sparse) {
  const bool uneven = is_hierarchical(choice.schedule) && !has_even_hosts(layout);
  const std::size_t each = uneven ? 4 : choice.schedule == ScheduleKind::exchange ? 3 : 2;
  const std::size_t most_regions = each * static_cast<std::size_t>(layout.ranks()) + 8;
  const std::size_t wanted = sparse ? kSparsePieces * choice.piece_bytes : choice.piece_bytes;
  return std::min(wanted, kMaxStagingBytes / 3 / most_regions);
}

std::size_t largest_tile_bytes(const EngineOptions& options, const Choices& choices,
                               const Layout& layout, const CodecSet& codecs) {
  std::size_t largest = 1;
  for (const ScheduleKind kind : kScheduleKinds) {
    for (int i = 0; i < kArithmeticCount * kDataTypeCount; ++i) {
      const auto arithmetic = static_cast<Arithmetic>(i / kDataTypeCount);
      const auto type = static_cast<DataType>(i % kDataTypeCount);
      const std::size_t longest = choices.longest_piece(kind, arithmetic);
      const bool unused =
          (is_lossy(arithmetic) && !codecs.lossy()) || !runs_with(arithmetic, type) || longest == 0;
      if (unused) continue;
      const bool sparse = is_lossy(arithmetic) && options.policy.uses(compression::CodecId::topk);
      const std::size_t piece_bytes = bounded_piece_bytes({kind, longest}, layout, sparse);
      const Strides strides =
          strides_for(codecs, arithmetic, type, tile_elements(piece_bytes, type));
      largest = std::max(largest, strides.total(regions_for(kind, arithmetic, layout)));
    }
  }
  return largest;
}

}  // namespace thinwire::collectives
