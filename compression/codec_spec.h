// CodecSpec: which codec, with which parameters, as a value that has a text. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace thinwire::compression {

// The numbers are on the wire (frame.h).
enum class CodecId : std::uint8_t {
  none = 0,
  fp16 = 1,
  int8 = 2,
  bf16 = 3,
  int4 = 4,
  fp8_e4m3 = 5,
  fp8_e5m2 = 6,
  topk = 7,
};

// How top-k writes the values it picked.
enum class TopkValue : std::uint8_t { fp32, fp16 };

struct CodecSpec {
  CodecId id = CodecId::none;
  float ratio = 0;                    // top-k: elements sent of those there are
  TopkValue value = TopkValue::fp32;  // top-k
  bool stochastic = false;            // round at random, right on average

  bool operator==(const CodecSpec&) const = default;
};

inline constexpr float kLeastTopkRatio = 1e-6f, kLargestTopkRatio = 0.5f;

// Reads none, fp16, bf16, int8, int4, fp8-e4m3, fp8-e5m2 (":sr" behind the last five rounds
// stochastically), topk:RATIO, topk:RATIO:fp32 or topk:RATIO:fp16. Anything else is
// Code::invalid_config with a text that names the accepted forms.
Result<CodecSpec> parse_codec(std::string_view text);

// The canonical text: parse_codec() of it gives `spec` again.
std::string to_text(const CodecSpec& spec);

// The text of a codec without its parameters; static.
std::string_view name_of(CodecId id);

}  // namespace thinwire::compression
