#include <cstring>

#include "collectives/engine_impl.h"
#include "compression/reduce.h"

namespace thinwire::collectives {

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

Status EngineImpl::run_codec(Tile& tile, const CompiledStep& step, const Range& range) const {
  const DataType type = tile.request->type;
  std::byte* from = address(tile, step.from, range);
  std::byte* to = address(tile, step.to, range);
  std::size_t& wire_bytes = tile.wire_bytes[static_cast<std::size_t>(step.wire)];
  switch (step.action) {
    case Action::encode_elements:
      wire_bytes = codec_.encode(from, type, range.count, to);
      return {};
    case Action::encode_acc:
      wire_bytes = codec_.encode(from, DataType::float32, range.count, to);
      return {};
    case Action::decode_elements:
      return codec_.decode(from, wire_bytes, type, range.count, to);
    case Action::decode_acc:
      return codec_.decode(from, wire_bytes, DataType::float32, range.count, to);
    case Action::decode_add:
      return codec_.decode_add(from, wire_bytes, range.count, reinterpret_cast<float*>(to));
    default:
      return {Code::internal_error, "engine: a step without an action"};
  }
}

}  // namespace thinwire::collectives
