// ValueFlow: the values that pass through a Plan's slots: who defines each and who uses it.
// A slot is written several times; each writing begins a new value. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/plan.h"

namespace thinwire::collectives {

inline constexpr std::int32_t kNone = -1;

// What one writing of a wire slot put there.
struct WireValue {
  StepKind origin{};  // encode_input, encode_acc or receive
  std::int32_t slot = kNone;
  std::int32_t piece = kNone;
  std::int32_t chain = kNone;         // origin encode_acc: the sum it was made of
  std::int32_t decode_piece = kNone;  // output piece it is decoded to, if any
  std::int32_t loaded_by = kNone;     // the chain that starts from it, if any
  bool only_loaded = true;            // ... and nothing else reads it
  std::int32_t next_in_slot = kNone;  // the value that overwrites it, if any
};

// One sum: from its load step to the step that takes the result away.
struct AccChain {
  std::int32_t slot = kNone;
  std::int32_t source = kNone;       // wire value it starts from; kNone: input
  std::int32_t encoded = kNone;      // wire value made of it, if any
  std::int32_t store_piece = kNone;  // output piece it is stored to, if any
  bool last_in_slot = true;
};

struct ValueFlow {
  std::vector<WireValue> values;
  std::vector<AccChain> chains;
  std::vector<std::int32_t> value_of;  // per step: wire value it defines or reads, kNone
  std::vector<std::int32_t> chain_of;  // per step: chain it belongs to, kNone
};

ValueFlow analyse(const Plan& plan);

}  // namespace thinwire::collectives
