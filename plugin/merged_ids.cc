#include "plugin/merged_ids.h"

#include <algorithm>

namespace thinwire::plugin {

namespace {

constexpr int kSeveralPlanes = kMaxPlane + 1;  // a bit that no plane of a port has
constexpr std::size_t kMaxPlanes = 14;         // the bits below it

template <class Id>
int common(const std::vector<RailIds>& members, Id id) {
  const int first = members.front().*id;
  const bool same =
      std::ranges::all_of(members, [&](const RailIds& ids) { return ids.*id == first; });
  return same ? first : kUndefinedId;
}

}  // namespace

RailIds merged_ids(const std::vector<RailIds>& members, std::vector<int> planes) {
  RailIds merged{common(members, &RailIds::rail), common(members, &RailIds::plane)};
  const bool all_known = std::ranges::find(members, kUndefinedId, &RailIds::plane) == members.end();
  if (merged.plane != kUndefinedId || !all_known) return merged;
  std::erase(planes, kUndefinedId);
  std::ranges::sort(planes);
  planes.erase(std::unique(planes.begin(), planes.end()), planes.end());
  if (planes.size() > kMaxPlanes) return merged;
  merged.plane = kSeveralPlanes;
  for (const RailIds& ids : members) {
    merged.plane |= 1 << (std::ranges::lower_bound(planes, ids.plane) - planes.begin());
  }
  return merged;
}

}  // namespace thinwire::plugin
