// Rail and plane of a device that is made of several. Pure; any thread.
#pragma once

#include <vector>

#include "base/nic_info.h"

namespace thinwire::plugin {

// `planes`: those of all devices of this process. What all members have in common; of members on
// different planes a plane of its own, above kMaxPlane and equal for the same planes, because they
// reach only what is on all of them. Undefined where a member's is.
RailIds merged_ids(const std::vector<RailIds>& members, std::vector<int> planes);

}  // namespace thinwire::plugin
