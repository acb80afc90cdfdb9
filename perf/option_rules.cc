#include "perf/option_rules.h"

#include "perf/failure.h"
#include "perf/payload.h"
#include "perf/usage.h"

namespace thinwire::perf {
namespace {

bool is_all_reduce(const Options& o) { return o.collective == Collective::all_reduce; }
bool may_use_collnet(const Options& o) { return o.api != Api::net && o.api != Api::nccl; }
bool uses_plugin(const Options& o) { return o.api != Api::nccl; }
bool cuts_chunks(const Options& o) { return !o.registered; }
bool reduces_or_sums(const Options& o) {
  return reduces(o.collective) || o.ops == std::vector<PerfOp>{PerfOp::sum};
}

bool has_gaussian_sums(const Options& o) {
  if (o.data != Data::gaussian) return true;
  for (const DataType type : o.types) {
    for (const PerfOp op : o.ops) {
      Payload payload{};
      payload.collective = o.collective;
      payload.type = type;
      payload.op = op;
      if (gaussian_makes_sense(payload)) return true;
    }
  }
  return false;
}

struct Rule {
  const char* option;
  bool (*has_effect)(const Options&);
  const char* reason;
};

constexpr const char* kNeedsCollNet = "with this --api: it belongs to --api collnet";
constexpr const char* kNcclDecides =
    "with --api nccl: NCCL decides that itself (NCCL_NET_PLUGIN, NCCL_SOCKET_IFNAME ...)";
constexpr const char* kWholeCalls = "with --registered: one call covers up to maxCollBytes";

constexpr Rule kRules[] = {
    {"--registered", may_use_collnet, kNeedsCollNet},
    {"--staging", may_use_collnet, kNeedsCollNet},
    {"--poison", may_use_collnet, kNeedsCollNet},
    {"--poison", [](const Options& o) { return is_all_reduce(o) || o.staging; },
     "of this program but with --staging: only all-reduce calls reach past the tensor's end"},
    {"--chunk", cuts_chunks, kWholeCalls},
    {"--channels", cuts_chunks, kWholeCalls},
    {"--plugin", uses_plugin, kNcclDecides},
    {"--interface", uses_plugin, kNcclDecides},
    {"--device", uses_plugin, kNcclDecides},
    {"--channels", uses_plugin, kNcclDecides},
    {"--chunk", uses_plugin, kNcclDecides},
    {"--outstanding", uses_plugin, kNcclDecides},
    {"--outstanding",
     [](const Options& o) { return o.pattern != Pattern::pingpong || o.chunk_bytes != 0; },
     "with --pattern pingpong but with --chunk: one message is on its way at a time"},
    {"--buffers", [](const Options& o) { return o.pattern == Pattern::pair; },
     "but with --pattern pair: elsewhere all messages use one buffer"},
    {"--congestion", [](const Options& o) { return o.reference; },
     "without --reference: it is for plain TCP (for the plugin: THINWIRE_TCP_CONGESTION)"},
    {"--average", [](const Options& o) { return o.pattern != Pattern::pair; },
     "with --pattern pair: there the longest time counts"},
    {"--op", reduces_or_sums, "on this program: it reduces nothing"},
    {"--data", has_gaussian_sums,
     "as gaussian with these types and operations: it is for sums of float, half or bfloat16"},
};

}  // namespace

void check_effects(const Options& options, const GivenOptions& given) {
  for (const Rule& rule : kRules) {
    if (given.contains(rule.option) && !rule.has_effect(options)) {
      fail_usage(std::string(rule.option) + " has no effect " + rule.reason);
    }
  }
}

void check_effects_without_collnet(const Options& options) {
  const char* option = options.registered ? "--registered"
                       : options.staging  ? "--staging"
                       : options.poison   ? "--poison"
                                          : nullptr;
  if (option == nullptr) return;
  throw Failure(ExitCode::usage, std::string(option) +
                                     " has no effect here: it is for CollNet calls, and the "
                                     "plugin has no table, device or function for them");
}

}  // namespace thinwire::perf
