// Links the ranks of a collective group and has them agree on how that went: a tree first, over
// which settings and hosts are compared, then what the Plans need, through shared memory where a
// link stays within a host. Owner: CollComm::connect(); one thread.
#pragma once

#include "collectives/engine.h"
#include "plugin/agreement.h"
#include "plugin/group_links.h"
#include "plugin/joint_endpoint.h"
#include "plugin/plugin.h"

namespace thinwire::plugin {

// `endpoint` is the one of `links`. Blocks, at most THINWIRE_CONNECT_TIMEOUT_S; the verdict is the
// same on all ranks that can be reached. Completes `options` with what the ranks found out about
// one another.
Verdict connect_group(GroupLinks& links, JointEndpoint& endpoint, Plugin& plugin,
                      collectives::EngineOptions& options);

}  // namespace thinwire::plugin
