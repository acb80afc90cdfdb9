// NCCL's CollNet interface, version 6 (NCCL <= 2.17: all-reduce only).
#include "base/nccl_abi/net_v6.h"
#include "plugin/abi/coll_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_collnet_v6_t make_table() {
  auto table = collnet_table<tw_nccl_collnet_v6_t, tw_nccl_net_properties_v6_t>();
  table.init = guarded<init_v6<Table::collnet>>;
  table.listen = guarded<coll_listen_v6>;
  table.regMr = guarded<reg_mr_v6<Table::collnet>>;
  table.iallreduce = guarded<coll_iallreduce_v6>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_collnet_v6_t ncclCollNetPlugin_v6;
constinit const tw_nccl_collnet_v6_t ncclCollNetPlugin_v6 = thinwire::plugin::abi::make_table();
}
