// NCCL's CollNet interface, version 8 (first in NCCL 2.20: all-gather and reduce-scatter).
#include "base/nccl_abi/net_v8.h"
#include "plugin/abi/coll_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_collnet_v8_t make_table() {
  auto table = collnet_table<tw_nccl_collnet_v8_t, tw_nccl_net_properties_v8_t>();
  table.init = guarded<init_v6<Table::collnet>>;
  table.listen = guarded<coll_listen_v6>;
  table.regMr = guarded<coll_reg_mr>;
  table.iallreduce = guarded<coll_iallreduce_v6>;
  table.iallgather = guarded<coll_iallgather_parts<tw_nccl_net_sge_v8_t>>;
  table.ireducescatter = guarded<coll_ireducescatter_parts<tw_nccl_net_sge_v8_t>>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_collnet_v8_t ncclCollNetPlugin_v8;
constinit const tw_nccl_collnet_v8_t ncclCollNetPlugin_v8 = thinwire::plugin::abi::make_table();
}
