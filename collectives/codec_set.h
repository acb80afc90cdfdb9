// CodecSet: the codecs that a policy names, made once, and which of them a Call travels with.
// Owner: an Engine. Immutable; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/data_type.h"
#include "collectives/layout.h"
#include "collectives/plan.h"
#include "compression/codec.h"
#include "compression/policy.h"

namespace thinwire::collectives {

// What a Call's sums are encoded with, by the level that the message travels; all exact by default.
class LevelCodecs {
 public:
  LevelCodecs() { at_.fill(nullptr); }

  // Exact frames where the policy leaves this level exact.
  const compression::Codec& at(int level) const;
  bool lossy() const;
  template <class Predicate>
  bool any(Predicate predicate) const {
    for (const compression::Codec* codec : at_) {
      if (codec != nullptr && predicate(*codec)) return true;
    }
    return false;
  }
  bool sparse() const {
    return any(
        [](const compression::Codec& codec) { return codec.id() == compression::CodecId::topk; });
  }
  void set(compression::Level level, const compression::Codec* codec) {
    at_[static_cast<std::size_t>(level)] = codec;
  }

 private:
  std::array<const compression::Codec*, compression::kLevelCount> at_;
};

class CodecSet {
 public:
  // `least_bytes`: shorter vectors stay exact whatever the rules say.
  CodecSet(const compression::Policy& policy, std::size_t least_bytes, const Layout& layout);

  // Codecs apply to the sums of all_reduce and reduce_scatter in float32, float16 and bfloat16, on
  // at least two ranks. Levels that no two ranks of the layout are apart stay exact.
  LevelCodecs choose(Collective collective, DataType type, ReduceOp op,
                     std::size_t vector_bytes) const;

  bool lossy() const { return !codecs_.empty(); }
  // The codec of a frame that was sent where `expected` is the rule: this one, or exact frames
  // where a sender may fall back on them. Code::peer_lost for any other.
  static Result<const compression::Codec*> of_frame(const compression::Codec& expected,
                                                    const std::byte* wire, std::size_t wire_bytes);
  // Room for one frame of any of the codecs, from `type` or from float32 sums.
  std::size_t max_encoded_bytes(std::size_t count, DataType type) const;

 private:
  const compression::Policy policy_;
  const std::size_t least_bytes_;
  const int ranks_;
  std::array<bool, compression::kLevelCount> present_{};
  std::vector<std::unique_ptr<const compression::Codec>> codecs_;  // one a rule; null for none
};

// A sender of top-k without a residual falls back on exact frames.
inline bool may_fall_back(const compression::Codec& codec) {
  return codec.id() == compression::CodecId::topk;
}

}  // namespace thinwire::collectives
