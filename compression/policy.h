// Policy: which codec a sum travels with, as an ordered list of rules. A value; any thread.
//
// Text: RULE,RULE,...  The first rule that matches decides; where none does, the sum stays exact.
//   RULE       CODEC or CODEC@CONDITION&CONDITION...   (codec_spec.h: int8, topk:0.01, none, ...)
//   CONDITION  >=SIZE, <SIZE        bytes of the call's vector, suffix K, M or G
//              float32, float16, bfloat16              the element type
//              host, rack, site     how far the bytes travel: within a host, between the hosts of
//                                   a rack, between racks or sites
// "topk:0.01@>=1M,int8@>=64K,none" or "int4@site,int8@rack".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/data_type.h"
#include "base/status.h"
#include "compression/codec_spec.h"

namespace thinwire::compression {

// How far a message travels, at most; the numbers are those of collectives::Step::level.
enum class Level : std::uint8_t { host, rack, site };
inline constexpr std::size_t kLevelCount = 3;

struct Rule {
  CodecSpec codec;
  std::size_t least_bytes = 0;
  std::size_t below_bytes = SIZE_MAX;
  std::optional<DataType> type;
  std::optional<Level> level;

  bool matches(DataType of_type, std::size_t bytes, Level at) const;
  bool operator==(const Rule&) const = default;
};

class Policy {
 public:
  Policy() = default;  // all exact
  // One codec for every sum.
  explicit Policy(const CodecSpec& codec) : rules_{Rule{.codec = codec, .type = {}, .level = {}}} {}

  // Code::invalid_config for a malformed text; `complaint` then says which rule and why.
  static Result<Policy> parse(std::string_view text, std::string& complaint);

  // The index of the first rule that matches a sum of `bytes` in all; none: exact.
  std::optional<std::size_t> find(DataType type, std::size_t bytes, Level level) const;
  const std::vector<Rule>& rules() const { return rules_; }
  // Whether any rule asks for a codec at all.
  bool compresses() const;
  bool uses(CodecId id) const;

  bool operator==(const Policy&) const = default;

 private:
  std::vector<Rule> rules_;
};

// The rules of a text that parse() takes which can never decide, as written: earlier ones match
// wherever they do.
std::vector<std::string> idle_rules(std::string_view text);

// What is wrong with the text and what is accepted; "" when parse() takes it.
std::string complaint_about_policy(std::string_view text);

// For parse_config().
inline constexpr std::array kSettingChecks{
    TextCheck{.setting = "THINWIRE_COMPRESS", .complaint = complaint_about_policy}};

}  // namespace thinwire::compression
