// NCCL's CollNet interface, version 12 (first in NCCL 2.30: rails and planes).
#include "base/nccl_abi/net_v12.h"
#include "plugin/abi/coll_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_collnet_v12_t make_table() {
  auto table = collnet_table<tw_nccl_collnet_v12_t, tw_nccl_net_properties_v12_t>();
  table.init = guarded<coll_init_v11>;
  table.listen = guarded<coll_listen>;
  table.regMr = guarded<coll_reg_mr>;
  table.iallreduce = guarded<coll_iallreduce_v9>;
  table.iallgather = guarded<coll_iallgather_parts<tw_nccl_net_sge_v9_t>>;
  table.ireducescatter = guarded<coll_ireducescatter_parts<tw_nccl_net_sge_v9_t>>;
  table.finalize = guarded<finalize_v11<Table::collnet>>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_collnet_v12_t ncclCollNetPlugin_v12;
constinit const tw_nccl_collnet_v12_t ncclCollNetPlugin_v12 = thinwire::plugin::abi::make_table();
}
