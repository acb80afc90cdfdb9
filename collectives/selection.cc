#include "collectives/selection.h"

#include <algorithm>

#include "collectives/schedules/direct.h"
#include "collectives/schedules/ring.h"

namespace thinwire::collectives {

Arithmetic choose_arithmetic(const EngineOptions& options, Collective collective, DataType type,
                             ReduceOp op, std::size_t vector_bytes, int ranks) {
  // Bytes that are only gathered are not summed, whatever their type.
  if (collective == Collective::all_gather || ranks == 1) return Arithmetic::native;
  const bool wide = accumulator_type(type) != type;
  const bool compressible =
      type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
  const bool lossy = options.codec != compression::CodecId::none && compressible &&
                     op == ReduceOp::sum && vector_bytes >= options.compress_min_bytes;
  if (lossy) return wide ? Arithmetic::lossy_widened : Arithmetic::lossy_native;
  return wide ? Arithmetic::widened : Arithmetic::native;
}

ScheduleKind choose_schedule(SchedulePolicy policy, Arithmetic arithmetic, int ranks,
                             std::size_t vector_bytes) {
  switch (policy) {
    case SchedulePolicy::ring:
      return ScheduleKind::ring;
    case SchedulePolicy::direct:
      return ScheduleKind::direct;
    case SchedulePolicy::automatic:
      break;
  }
  const bool exact = arithmetic == Arithmetic::native;
  if (exact && vector_bytes > kMaxExactDirectBytes) return ScheduleKind::ring;
  return ranks <= (exact ? kMaxExactDirectRanks : kMaxDirectRanks) ? ScheduleKind::direct
                                                                   : ScheduleKind::ring;
}

bool may_choose(SchedulePolicy policy, ScheduleKind kind, Arithmetic arithmetic, int ranks) {
  return choose_schedule(policy, arithmetic, ranks, 0) == kind ||
         choose_schedule(policy, arithmetic, ranks, kMaxExactDirectBytes + 1) == kind;
}

bool may_choose(SchedulePolicy policy, ScheduleKind kind, int ranks) {
  return may_choose(policy, kind, Arithmetic::native, ranks) ||
         may_choose(policy, kind, Arithmetic::widened, ranks);
}

Plan make_plan(ScheduleKind kind, Collective collective, int rank, int ranks) {
  return kind == ScheduleKind::ring ? make_ring(collective, rank, ranks)
                                    : make_direct(collective, rank, ranks);
}

std::vector<int> peers_needed(const EngineOptions& options, int rank, int ranks) {
  std::vector<int> peers;
  for (const ScheduleKind kind : {ScheduleKind::ring, ScheduleKind::direct}) {
    if (!may_choose(options.schedule, kind, ranks)) continue;
    const std::vector<int> named = peers_of(make_plan(kind, Collective::all_reduce, rank, ranks));
    peers.insert(peers.end(), named.begin(), named.end());
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace thinwire::collectives
