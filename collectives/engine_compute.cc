#include <algorithm>
#include <cstring>

#include "collectives/engine_impl.h"
#include "compression/exact_frame.h"
#include "compression/reduce.h"

namespace thinwire::collectives {
namespace {

// Differs from one encoding to any other of the communicator.
std::uint64_t noise_of(std::uint64_t seed, std::uint64_t sequence, int rank,
                       const CompiledStep& step) {
  std::uint64_t hash = seed;
  for (const std::uint64_t part :
       {sequence, static_cast<std::uint64_t>(rank),
        static_cast<std::uint64_t>(step.piece) << 8 | static_cast<std::uint8_t>(step.residual)}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

Range EngineImpl::range_of(const Tile& tile, std::int32_t piece) const {
  const Request& request = *tile.request;
  return tile_range(request.offsets, static_cast<std::size_t>(piece), tile.index,
                    request.tile_elements);
}

std::byte* EngineImpl::address(const Tile& tile, const Place& place, const Range& range) const {
  const Request& request = *tile.request;
  const auto index = static_cast<std::size_t>(place.index);
  switch (place.area) {
    case Area::input:
      return reinterpret_cast<std::byte*>(request.input_origin + range.first * request.element);
    case Area::output:
      return reinterpret_cast<std::byte*>(request.output_origin + range.first * request.element);
    case Area::wire:
      if (tile.views[index].data != nullptr) return tile.views[index].data;
      return tile.staging + index * request.strides.wire;
    case Area::acc:
      break;
  }
  return tile.staging +
         static_cast<std::size_t>(request.plan->wire_regions) * request.strides.wire +
         index * request.strides.acc;
}

Status EngineImpl::run_step(Tile& tile, const CompiledStep& step) {
  const Request& request = *tile.request;
  const Range range = range_of(tile, step.piece);
  std::byte* from = address(tile, step.from, range);
  std::byte* to = address(tile, step.to, range);
  switch (step.action) {
    case Action::copy:
      // All-gather in place: the own piece is there already.
      if (from != to) std::memcpy(to, from, range.count * request.element);
      return {};
    case Action::load:
      compression::load(request.type, from, to, range.count);
      return {};
    case Action::reduce:
      compression::reduce(request.type, request.op, from, to, range.count);
      return {};
    case Action::store:
      compression::store(request.type, from, to, range.count);
      return {};
    default:
      return run_codec(tile, step, range);
  }
}

Status EngineImpl::run_codec(Tile& tile, const CompiledStep& step, const Range& range) {
  std::size_t& wire_bytes = tile.wire_bytes[static_cast<std::size_t>(step.wire)];
  switch (step.action) {
    case Action::encode_elements:
      wire_bytes = encode(tile, step, range, tile.request->type);
      return {};
    case Action::encode_acc:
      wire_bytes = encode(tile, step, range, DataType::float32);
      return {};
    case Action::decode_elements:
    case Action::decode_acc:
    case Action::decode_add:
      return decode(tile, step, range);
    default:
      return {Code::internal_error, "engine: a step without an action"};
  }
}

std::size_t EngineImpl::encode(const Tile& tile, const CompiledStep& step, const Range& range,
                               DataType type) const {
  const Request& request = *tile.request;
  const compression::Codec* codec = &request.codecs.at(step.level);
  compression::EncodeContext context;
  context.valid = request.valid - std::min(request.valid, range.first);
  if (request.residual != nullptr && codec->lossy()) {
    const auto ordinal = static_cast<std::size_t>(step.residual);
    const std::size_t pieces = request.offsets.size() - 1;
    context.residual =
        request.residual->values.data() + ordinal * request.offsets.back() + range.first;
    context.limit = request.residual->limits.data() +
                    (ordinal * request.tiles + tile.index) * pieces +
                    static_cast<std::size_t>(step.piece);
  } else if (may_fall_back(*codec) && !options_.feedback.topk_without) {
    codec = &compression::exact_frames();
  }
  context.noise = noise_of(options_.noise_seed, tile.sequence, group_.rank, step);
  return codec->encode(address(tile, step.from, range), type, range.count,
                       address(tile, step.to, range), context);
}

Status EngineImpl::decode(Tile& tile, const CompiledStep& step, const Range& range) const {
  const Request& request = *tile.request;
  const std::byte* wire = address(tile, step.from, range);
  const std::size_t wire_bytes = tile.wire_bytes[static_cast<std::size_t>(step.wire)];
  std::byte* to = address(tile, step.to, range);
  const auto codec = CodecSet::of_frame(request.codecs.at(step.level), wire, wire_bytes);
  if (!codec.ok()) return codec.status();
  if (step.action == Action::decode_add) {
    return codec.value()->decode_add(wire, wire_bytes, range.count, reinterpret_cast<float*>(to));
  }
  const DataType type = step.action == Action::decode_acc ? DataType::float32 : request.type;
  return codec.value()->decode(wire, wire_bytes, type, range.count, to);
}

}  // namespace thinwire::collectives
