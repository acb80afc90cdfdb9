// The last line before NCCL: nothing thrown may cross into C. Any thread.
#pragma once

#include "base/nccl_abi/types.h"
#include "plugin/core.h"

namespace thinwire::plugin::abi {

template <auto kFunction>
struct Guard;

template <class... Arguments, tw_nccl_result_t (*kFunction)(Arguments...)>
struct Guard<kFunction> {
  static tw_nccl_result_t call(Arguments... arguments) noexcept {
    try {
      return kFunction(arguments...);
    } catch (...) {
      return core_threw();
    }
  }
};

// What every entry of an exported table is: `function`, with anything thrown turned into
// a result code.
template <auto kFunction>
inline constexpr auto guarded = &Guard<kFunction>::call;

}  // namespace thinwire::plugin::abi
