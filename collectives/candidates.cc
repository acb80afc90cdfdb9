#include "collectives/candidates.h"

#include <algorithm>
#include <limits>

#include "collectives/schedules/exchange.h"
#include "collectives/selection.h"
#include "collectives/staging.h"

namespace thinwire::collectives {
namespace {

// Predictions that differ less are alike, and the schedule of fewer peers or roundings is taken.
constexpr double kAlike = 1.002;

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

// A ring rounds so little with so few ranks and fp16 that its full use of the links is worth more:
// 3.3e-4 instead of direct's 2.8e-4 on 4 ranks.
constexpr int kMaxFineRing = 8;
bool is_fine(const Task& task) {
  return is_lossy(task.arithmetic) && std::ranges::all_of(task.codecs, [](const auto& codec) {
           return codec.id == compression::CodecId::fp16;
         });
}

const char* rounds_too_often(ScheduleKind kind, const Layout& layout, const Task& task) {
  switch (kind) {
    case ScheduleKind::ring:
      return layout.ranks() <= kMaxFineRing && is_fine(task) ? "" : "rounds at every step";
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

const char* refusal(ScheduleKind kind, const Layout& layout, const Task& task) {
  const char* reason = too_large(kind, layout);
  if (*reason != '\0' || task.arithmetic == Arithmetic::native) return reason;
  return rounds_too_often(kind, layout, task);
}

constexpr std::array<std::size_t, 4> kPieces{kPieceBytes, 64 * 1024, 32 * 1024, 16 * 1024};
// What another size than kPieceBytes must promise to be taken: the model is not that precise.
constexpr double kWorthwhile = 0.97;

// Smaller pieces are for vectors that are few tiles otherwise. Of top-k they would choose other
// elements.
constexpr std::size_t kFewTiles = 2;
bool may_choose_pieces(const EngineOptions& options, const Layout& layout, const Task& task) {
  const double few = static_cast<double>(kFewTiles * kPieceBytes) * layout.ranks();
  return options.piece_bytes == 0 && task.bytes <= few &&
         !options.policy.uses(compression::CodecId::topk);
}

Candidate weigh(ScheduleKind kind, const EngineOptions& options, const Layout& layout, Task task) {
  Candidate best;
  const int nodes = is_hierarchical(kind) ? layout.hosts() : layout.ranks();
  if (grid_nodes(options, layout) == nodes) task.grid = options.grid;
  const auto pieces =
      std::span(kPieces).first(may_choose_pieces(options, layout, task) ? kPieces.size() : 1);
  for (const std::size_t piece : pieces) {
    const Choice choice{kind, options.piece_bytes == 0 ? piece : options.piece_bytes};
    task.piece_bytes = static_cast<double>(bounded_piece_bytes(choice, layout));
    const Prediction p = predict(kind, shape_of(layout), task, options.costs);
    if (piece != pieces[0] && !(p.seconds < kWorthwhile * best.prediction.seconds)) continue;
    best = {.kind = kind, .prediction = p, .piece_bytes = choice.piece_bytes};
  }
  return best;
}

}  // namespace

Task task_of(const EngineOptions& options, Arithmetic arithmetic, std::size_t vector_bytes) {
  Task task;
  const DataType type = is_widened(arithmetic) ? DataType::bfloat16 : DataType::float32;
  task.bytes = static_cast<double>(vector_bytes);
  task.element_bytes = static_cast<double>(element_bytes(type));
  task.arithmetic = arithmetic;
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
    all[i] = weigh(kScheduleKinds[i], options, layout, task);
    all[i].refused = refusal(all[i].kind, layout, task);
  }
  return all;
}

const Candidate& best_of(const Candidates& all) {
  double least_s = std::numeric_limits<double>::infinity();
  for (const Candidate& one : all) {
    if (*one.refused == '\0') least_s = std::min(least_s, one.prediction.seconds);
  }
  return *std::find_if(all.begin(), all.end(), [&](const Candidate& one) {
    return *one.refused == '\0' && one.prediction.seconds <= kAlike * least_s;
  });
}

}  // namespace thinwire::collectives
