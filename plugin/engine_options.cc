#include "plugin/engine_options.h"

#include <cinttypes>
#include <cstdio>

#include "base/config_table.h"
#include "base/fnv.h"
#include "collectives/schedules/grid.h"
#include "collectives/selection.h"

namespace thinwire::plugin {

namespace {

// Changes whenever two builds could disagree on what travels: plans, geometry, tags, codecs.
constexpr int kCollectiveProtocol = 3;

collectives::FeedbackMode feedback_of(FeedbackChoice choice) {
  switch (choice) {
    case FeedbackChoice::off:
      return collectives::FeedbackMode::off;
    case FeedbackChoice::all:
      return collectives::FeedbackMode::all;
    case FeedbackChoice::automatic:
      break;
  }
  return collectives::FeedbackMode::needed;
}

collectives::SchedulePolicy policy_of(ScheduleChoice choice) {
  switch (choice) {
    case ScheduleChoice::ring:
      return collectives::SchedulePolicy::ring;
    case ScheduleChoice::direct:
      return collectives::SchedulePolicy::direct;
    case ScheduleChoice::exchange:
      return collectives::SchedulePolicy::exchange;
    case ScheduleChoice::grid:
      return collectives::SchedulePolicy::grid;
    case ScheduleChoice::hierarchical:
      return collectives::SchedulePolicy::hierarchical;
    case ScheduleChoice::tree:
      return collectives::SchedulePolicy::tree;
    case ScheduleChoice::automatic:
      break;
  }
  return collectives::SchedulePolicy::automatic;
}

// Ballots carry the settings of several ranks, and their differences are printed: a long rule list
// is compared by what it begins with, its length and its hash.
std::string comparable(const std::string& setting) {
  constexpr std::size_t kLongest = 300;
  constexpr std::size_t kShown = 200;
  if (setting.size() <= kLongest) return setting;
  char ending[80];
  std::snprintf(ending, sizeof ending, "... (%zu characters, hash %016" PRIx64 ")", setting.size(),
                fnv1a(setting));
  return setting.substr(0, kShown) + ending;
}

}  // namespace

collectives::EngineOptions engine_options(const Config& config) {
  collectives::EngineOptions options;
  options.schedule = policy_of(config.schedule);
  options.grid = config.grid.sides;
  std::string complaint;
  if (auto policy = compression::Policy::parse(config.compress, complaint); policy.ok()) {
    options.policy = std::move(policy).value();
  }
  options.feedback.mode = feedback_of(config.ef);
  options.feedback.max_bytes = static_cast<std::size_t>(config.ef_max_bytes);
  options.feedback.topk_without = config.topk_without_ef != 0;
  options.max_requests = config.compress_check != 0 ? 2 * kMaxCollRequests : kMaxCollRequests;
  options.noise_seed = static_cast<std::uint64_t>(config.compress_seed);
  options.compress_min_bytes = static_cast<std::size_t>(config.compress_min_bytes);
  options.piece_bytes = static_cast<std::size_t>(config.piece_bytes);
  return options;
}

std::string grid_misfit(const Config& config, const collectives::Layout& layout) {
  const collectives::EngineOptions options = engine_options(config);
  const int nodes = collectives::grid_nodes(options, layout);
  if (nodes == 0 || collectives::fits(options.grid, nodes)) return "";
  const bool of_hosts = options.schedule == collectives::SchedulePolicy::hierarchical;
  return "THINWIRE_GRID=" + value_text(*find_setting("THINWIRE_GRID"), config) +
         " does not multiply to " + std::to_string(nodes) + ", the number of " +
         (of_hosts ? "hosts of this group of " + std::to_string(layout.ranks()) + " ranks"
                   : "ranks of this group");
}

bool wants_identity(const Config& config) {
  return config.ef_identity == IdentityChoice::profiler &&
         engine_options(config).policy.compresses();
}

std::string settings_text(const Config& config) {
  std::string text = "collective protocol=" + std::to_string(kCollectiveProtocol) + "\n";
  for (const std::string& setting : agreed_settings(config)) text += comparable(setting) + "\n";
  return text;
}

}  // namespace thinwire::plugin
