#include "compression/codec_spec.h"

#include <array>
#include <charconv>

namespace thinwire::compression {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"none", "fp16",     "int8",     "bf16",
                                                    "int4", "fp8-e4m3", "fp8-e5m2", "topk"};

constexpr const char* kUnknown =
    "unknown codec; accepted are none, fp16, bf16, int8, int4, fp8-e4m3, fp8-e5m2 (bf16 to "
    "fp8-e5m2 also with :sr, e.g. int8:sr) and topk:RATIO, e.g. topk:0.01 or topk:0.01:fp16";
constexpr const char* kNoStochastic =
    "a codec's only option is :sr (stochastic rounding), for bf16, int8, int4, fp8-e4m3 and "
    "fp8-e5m2";
constexpr const char* kBadRatio =
    "topk needs the ratio of elements to send, from 0.000001 to 0.5, e.g. topk:0.01";
constexpr const char* kBadValue = "topk's values are fp32 or fp16, e.g. topk:0.01:fp16";

Status bad(const char* text) { return {Code::invalid_config, text}; }

// Cuts `text` at its first colon; `rest` is what follows it.
std::string_view first_part(std::string_view text, std::string_view& rest) {
  const std::size_t colon = text.find(':');
  rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  return text.substr(0, colon);
}

Result<CodecSpec> parse_topk(std::string_view options) {
  CodecSpec spec{.id = CodecId::topk};
  std::string_view value;
  const std::string_view ratio = first_part(options, value);
  const char* const end = ratio.data() + ratio.size();
  const auto [stop, error] = std::from_chars(ratio.data(), end, spec.ratio);
  const bool within = spec.ratio >= kLeastTopkRatio && spec.ratio <= kLargestTopkRatio;
  if (error != std::errc() || stop != end || !within) return bad(kBadRatio);
  if (ratio.size() == options.size()) return spec;
  if (value != "fp32" && value != "fp16") return bad(kBadValue);
  spec.value = value == "fp16" ? TopkValue::fp16 : TopkValue::fp32;
  return spec;
}

bool rounds_stochastically(CodecId id) {
  return id != CodecId::none && id != CodecId::fp16 && id != CodecId::topk;
}

}  // namespace

std::string_view name_of(CodecId id) { return kNames[static_cast<std::size_t>(id)]; }

Result<CodecSpec> parse_codec(std::string_view text) {
  std::string_view options;
  const std::string_view name = first_part(text, options);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name != kNames[i]) continue;
    CodecSpec spec{.id = static_cast<CodecId>(i)};
    if (spec.id == CodecId::topk) return parse_topk(options);
    if (name.size() == text.size()) return spec;
    if (options != "sr" || !rounds_stochastically(spec.id)) return bad(kNoStochastic);
    spec.stochastic = true;
    return spec;
  }
  return bad(kUnknown);
}

std::string to_text(const CodecSpec& spec) {
  std::string text(name_of(spec.id));
  if (spec.id == CodecId::topk) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), spec.ratio).ptr;
    text.append(":").append(digits.data(), end);
    if (spec.value == TopkValue::fp16) text += ":fp16";
  }
  return spec.stochastic ? text + ":sr" : text;
}

}  // namespace thinwire::compression
