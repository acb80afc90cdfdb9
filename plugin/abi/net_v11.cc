// NCCL's network interface, version 11 (first in NCCL 2.28: a context per communicator).
#include "base/nccl_abi/net_v11.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v11_t make_table() {
  auto table = net_table<tw_nccl_net_v11_t, tw_nccl_net_properties_v11_t>();
  table.init = guarded<net_init_v11>;
  table.listen = guarded<net_listen>;
  table.connect = guarded<net_connect_v11>;
  table.accept = guarded<net_accept_v7>;
  table.regMr = guarded<net_reg_mr>;
  table.isend = guarded<net_isend_v10>;
  table.irecv = guarded<net_irecv_v10>;
  table.finalize = guarded<finalize_v11<Table::net>>;
  table.setNetAttr = guarded<net_set_attr_v11>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v11_t ncclNetPlugin_v11;
constinit const tw_nccl_net_v11_t ncclNetPlugin_v11 = thinwire::plugin::abi::make_table();
}
