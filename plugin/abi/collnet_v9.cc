// NCCL's CollNet interface, version 9 (first in NCCL 2.24: size_t counts).
#include "base/nccl_abi/net_v9.h"
#include "plugin/abi/coll_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_collnet_v9_t make_table() {
  auto table = collnet_table<tw_nccl_collnet_v9_t, tw_nccl_net_properties_v9_t>();
  table.init = guarded<init_v6<Table::collnet>>;
  table.listen = guarded<coll_listen_v6>;
  table.regMr = guarded<coll_reg_mr>;
  table.iallreduce = guarded<coll_iallreduce_v9>;
  table.iallgather = guarded<coll_iallgather_parts<tw_nccl_net_sge_v9_t>>;
  table.ireducescatter = guarded<coll_ireducescatter_parts<tw_nccl_net_sge_v9_t>>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_collnet_v9_t ncclCollNetPlugin_v9;
constinit const tw_nccl_collnet_v9_t ncclCollNetPlugin_v9 = thinwire::plugin::abi::make_table();
}
