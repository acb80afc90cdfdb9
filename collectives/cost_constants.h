// CostConstants: what the cost model (cost_model.h) knows of machines and network. Built in, or
// from a tuning file that `thinwire calibrate` writes; never measured at start-up. A value; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compression/codec_spec.h"
#include "compression/policy.h"

namespace thinwire::collectives {

struct LinkCost {
  double latency_us = 0;    // alpha of a step
  double gbytes_per_s = 0;  // beta: of a rank to its host's others; else of a host, payload
};

// A codec's rates, in GB/s of elements.
struct CodecCost {
  double encode_gbytes_per_s = 0;
  double decode_gbytes_per_s = 0;  // with or without adding
};

inline constexpr std::size_t kCodecIds = static_cast<std::size_t>(compression::CodecId::topk) + 1;

struct CostConstants {
  std::array<LinkCost, compression::kLevelCount> links;  // by level
  double fan_in = 1;  // times that a link is occupied where several senders meet at one receiver
  double message_us = 0;  // alpha of a message: what it costs a thread at each end
  double copy_gbytes_per_s = 0;
  double reduce_gbytes_per_s = 0;
  std::array<CodecCost, kCodecIds> codecs;  // by CodecId; that of `none` is not used
};

// 10 Gbit/s Ethernet over TCP with one core a rank, and within a host loopback on the same core;
// the codecs' speeds relative to memcpy are those of docs/numerics.md.
CostConstants built_in_costs();

// Bytes of one element of `element_bytes` as it travels; docs/numerics.md.
double wire_bytes_per_element(const compression::CodecSpec& codec, double element_bytes);

// Lines NAME=value, # comments; what is not named stays built in. Code::invalid_config:
// `complaint` then says line and reason ("12: ...").
Result<CostConstants> parse_costs(std::string_view text, std::string& complaint);

// One line a constant; parse_costs() of it gives the same constants.
std::string costs_text(const CostConstants& costs);

// Equal for equal constants, on every machine.
std::uint64_t costs_hash(const CostConstants& costs);

}  // namespace thinwire::collectives
