// NCCL's network interface, version 7 (first in NCCL 2.19: device offload handles,
// which stay unused).
#include "base/nccl_abi/net_v7.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v7_t make_table() {
  auto table = net_table<tw_nccl_net_v7_t, tw_nccl_net_properties_v7_t>();
  table.init = guarded<init_v6<Table::net>>;
  table.listen = guarded<net_listen_v6>;
  table.connect = guarded<net_connect_v7>;
  table.accept = guarded<net_accept_v7>;
  table.regMr = guarded<reg_mr_v6<Table::net>>;
  table.isend = guarded<net_isend_v6>;
  table.irecv = guarded<net_irecv_v6>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v7_t ncclNetPlugin_v7;
constinit const tw_nccl_net_v7_t ncclNetPlugin_v7 = thinwire::plugin::abi::make_table();
}
