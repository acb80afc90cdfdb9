#include "collectives/codec_set.h"

#include <algorithm>

#include "compression/exact_frame.h"

namespace thinwire::collectives {

using compression::Codec;
using compression::CodecId;
using compression::exact_frames;
using compression::kLevelCount;
using compression::Level;

const Codec& LevelCodecs::at(int level) const {
  const Codec* codec = at_[static_cast<std::size_t>(level)];
  return codec == nullptr ? exact_frames() : *codec;
}

bool LevelCodecs::lossy() const {
  return any([](const Codec& codec) { return codec.lossy(); });
}

CodecSet::CodecSet(const compression::Policy& policy, std::size_t least_bytes, const Layout& layout)
    : policy_(policy), least_bytes_(least_bytes), ranks_(layout.ranks()) {
  if (!policy.compresses()) return;
  for (const compression::Rule& rule : policy.rules()) {
    codecs_.push_back(rule.codec.id == CodecId::none ? nullptr
                                                     : compression::make_codec(rule.codec));
  }
  // Neighbours in the order are as near as any two ranks get.
  for (int place = 1; place < layout.ranks(); ++place) {
    const int level = layout.level(layout.rank_at(place - 1), layout.rank_at(place));
    present_[static_cast<std::size_t>(level)] = true;
  }
  present_[static_cast<std::size_t>(layout.widest)] = true;
}

LevelCodecs CodecSet::choose(Collective collective, DataType type, ReduceOp op,
                             std::size_t vector_bytes) const {
  LevelCodecs chosen;
  // Bytes that are only gathered are not summed, whatever their type.
  const bool sums = collective != Collective::all_gather && op == ReduceOp::sum && ranks_ > 1;
  if (!lossy() || !sums || vector_bytes < least_bytes_ || !exact_frames().supports(type)) {
    return chosen;
  }
  for (std::size_t level = 0; level < kLevelCount; ++level) {
    if (!present_[level]) continue;
    const auto rule = policy_.find(type, vector_bytes, static_cast<Level>(level));
    if (rule) chosen.set(static_cast<Level>(level), codecs_[*rule].get());
  }
  return chosen;
}

Result<const Codec*> CodecSet::of_frame(const Codec& expected, const std::byte* wire,
                                        std::size_t wire_bytes) {
  const Result<CodecId> named = compression::codec_of_frame(wire, wire_bytes);
  if (!named.ok()) return named.status();
  if (named.value() == expected.id()) return &expected;
  if (named.value() == CodecId::none && may_fall_back(expected)) return &exact_frames();
  return Status(Code::peer_lost, "a frame of another codec than the rules say");
}

std::size_t CodecSet::max_encoded_bytes(std::size_t count, DataType type) const {
  std::size_t most = 0;
  const auto consider = [&](const Codec& codec) {
    most = std::max({most, codec.max_encoded_bytes(count, type),
                     codec.max_encoded_bytes(count, DataType::float32)});
  };
  const auto falls_back = [](const auto& codec) { return codec && may_fall_back(*codec); };
  const bool by_level = std::ranges::any_of(
      policy_.rules(), [](const compression::Rule& rule) { return rule.level.has_value(); });
  if (by_level || std::ranges::any_of(codecs_, falls_back)) consider(exact_frames());
  for (const auto& codec : codecs_) {
    if (codec) consider(*codec);
  }
  return most;
}

}  // namespace thinwire::collectives
