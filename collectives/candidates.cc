#include "collectives/candidates.h"

#include <algorithm>
#include <bit>

#include "collectives/schedules/exchange.h"

namespace thinwire::collectives {
namespace {

const char* too_large(ScheduleKind kind, const Layout& layout) {
  if (kind == ScheduleKind::direct && layout.ranks() > kMaxDirectRanks) {
    return "more ranks than one should be connected with";
  }
  if (kind == ScheduleKind::exchange && layout.ranks() > kMaxExchangeRanks) {
    return "for at most 8 ranks";
  }
  if (!is_hierarchical(kind)) return "";
  if (layout.hosts() == 1) return "there is one host only";
  if (layout.largest_host == 1) return "every host has one rank only";
  if (kind == ScheduleKind::hierarchical_direct && layout.hosts() > kMaxDirectRanks) {
    return "more hosts than one should be connected with";
  }
  return "";
}

const char* rounds_too_often(ScheduleKind kind, const Layout& layout) {
  switch (kind) {
    case ScheduleKind::ring:
    case ScheduleKind::hierarchical_ring:
      return "rounds at every step";
    case ScheduleKind::grid:
    case ScheduleKind::tree:
      return layout.ranks() <= kMaxDirectRanks ? "rounds more often than direct" : "";
    case ScheduleKind::hierarchical_grid:
      return layout.hosts() <= kMaxDirectRanks ? "rounds more often than direct between hosts" : "";
    default:
      return "";
  }
}

const char* refusal(ScheduleKind kind, const Layout& layout, Arithmetic arithmetic) {
  const char* reason = too_large(kind, layout);
  if (*reason != '\0' || arithmetic == Arithmetic::native) return reason;
  return rounds_too_often(kind, layout);
}

}  // namespace

std::size_t size_class(std::size_t vector_bytes) {
  return std::bit_ceil(std::clamp(vector_bytes, kLeastSizeClass, kLargestSizeClass));
}

Task task_of(const EngineOptions& options, Arithmetic arithmetic, std::size_t vector_bytes) {
  Task task;
  const DataType type = is_widened(arithmetic) ? DataType::bfloat16 : DataType::float32;
  task.bytes = static_cast<double>(vector_bytes);
  task.element_bytes = static_cast<double>(element_bytes(type));
  task.arithmetic = arithmetic;
  task.piece_bytes = static_cast<double>(options.piece_bytes);
  if (!is_lossy(arithmetic)) return task;
  for (std::size_t level = 0; level < task.codecs.size(); ++level) {
    const auto rule =
        options.policy.find(type, vector_bytes, static_cast<compression::Level>(level));
    if (rule) task.codecs[level] = options.policy.rules()[*rule].codec;
  }
  return task;
}

Candidates candidates(const EngineOptions& options, const Layout& layout, Arithmetic arithmetic,
                      std::size_t vector_bytes) {
  Candidates all;
  const Task task = task_of(options, arithmetic, vector_bytes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].kind = kScheduleKinds[i];
    all[i].prediction = predict(all[i].kind, shape_of(layout), task, options.costs);
    all[i].refused = refusal(all[i].kind, layout, arithmetic);
  }
  return all;
}

const Candidate& best_of(const Candidates& all) {
  return *std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    const bool out_a = *a.refused != '\0';
    const bool out_b = *b.refused != '\0';
    return out_a != out_b ? out_b : a.prediction.seconds < b.prediction.seconds;
  });
}

}  // namespace thinwire::collectives
