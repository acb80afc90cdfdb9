#include "perf/agreement.h"

#include <filesystem>
#include <map>

#include "perf/failure.h"
#include "perf/frame.h"
#include "perf/size_text.h"

namespace thinwire::perf {
namespace {

constexpr const char* kApis[] = {"auto", "net", "collnet", "nccl"};
constexpr const char* kPatterns[] = {"ring", "pair", "pingpong"};
constexpr std::size_t kMaxLines = 8;  // of a message; a thousand ranks may differ

template <class Values, class ToText>
std::string joined(const Values& values, ToText&& to_text) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ",") + std::string(to_text(value));
  return text;
}

std::string number(int value) { return std::to_string(value); }

std::string packed(const AgreedArguments& arguments) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : arguments) {
    texts.push_back(name);
    texts.push_back(value);
  }
  return pack(texts.data(), texts.size());
}

AgreedArguments unpacked(std::string_view text) {
  AgreedArguments arguments;
  while (auto name = unpack_next(text)) {
    arguments.emplace_back(std::move(*name), unpack_next(text).value_or(""));
  }
  return arguments;
}

const std::string* value_in(const AgreedArguments& arguments, const std::string& name) {
  for (const auto& [key, value] : arguments) {
    if (key == name) return &value;
  }
  return nullptr;
}

// "--minbytes 1M (rank 0: 2M), --iters 3 (rank 0: 5)"
std::string difference(const AgreedArguments& theirs, const AgreedArguments& first) {
  std::string text;
  for (const auto& [name, value] : first) {
    const std::string* other = value_in(theirs, name);
    if (other != nullptr && *other == value) continue;
    text += (text.empty() ? "" : ", ") + name + " " + (other != nullptr ? *other : "not known") +
            " (rank 0: " + value + ")";
  }
  return text.empty() ? "other options than rank 0 knows" : text;
}

}  // namespace

AgreedArguments agreed_arguments(const Options& o, bool lossy) {
  const auto type_name = [](DataType type) { return thinwire::name_of(type); };
  const auto op_name = [](PerfOp op) { return name_of(op); };
  return {{"program", std::filesystem::path(o.arguments.at(0)).filename()},
          {"--minbytes", size_text(o.min_bytes)},
          {"--maxbytes", size_text(o.max_bytes)},
          {"--stepbytes", size_text(o.step_bytes)},
          {"--stepfactor", number(o.step_factor)},
          {"--iters", number(o.iterations)},
          {"--warmup_iters", number(o.warmup)},
          {"--check", number(o.check)},
          {"--op", joined(o.ops, op_name)},
          {"--datatype", joined(o.types, type_name)},
          {"--blocking", number(o.blocking)},
          {"--average", number(static_cast<int>(o.average))},
          {"--api", kApis[static_cast<std::size_t>(o.api)]},
          {"--channels", number(o.channels)},
          {"--chunk", size_text(o.chunk_bytes)},
          {"--pattern", kPatterns[static_cast<std::size_t>(o.pattern)]},
          {"--registered", number(o.registered)},
          {"--staging", number(o.staging)},
          {"--poison", number(o.poison)},
          {"--reference", number(o.reference)},
          {"lossy sums (--data, THINWIRE_COMPRESS)", number(lossy)}};
}

std::string differences(const std::vector<AgreedArguments>& by_rank) {
  std::map<std::string, std::string> ranks_by_difference;
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == by_rank[0]) continue;
    std::string& ranks = ranks_by_difference[difference(by_rank[rank], by_rank[0])];
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  std::string text;
  std::size_t lines = 0;
  for (const auto& [what, ranks] : ranks_by_difference) {
    if (++lines > kMaxLines) return text + "\n  and more";
    text += "\n  rank " + ranks + ": " + what;
  }
  return text;
}

void require_same_arguments(Session& session, const AgreedArguments& mine) {
  std::vector<AgreedArguments> by_rank;
  for (const std::string& text : session.all_gather(packed(mine))) {
    by_rank.push_back(unpacked(text));
  }
  const std::string text = differences(by_rank);
  if (text.empty()) return;
  throw Failure(ExitCode::usage, "the ranks were started with different options:" + text)
      .set_quiet(!session.is_root());
}

}  // namespace thinwire::perf
