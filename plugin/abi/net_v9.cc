// NCCL's network interface, version 9 (first in NCCL 2.24: size_t messages).
#include "base/nccl_abi/net_v9.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v9_t make_table() {
  auto table = net_table<tw_nccl_net_v9_t, tw_nccl_net_properties_v9_t>();
  table.init = guarded<init_v6<Table::net>>;
  table.listen = guarded<net_listen_v6>;
  table.connect = guarded<net_connect_v7>;
  table.accept = guarded<net_accept_v7>;
  table.regMr = guarded<net_reg_mr>;
  table.isend = guarded<net_isend_v9>;
  table.irecv = guarded<net_irecv_v9>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v9_t ncclNetPlugin_v9;
constinit const tw_nccl_net_v9_t ncclNetPlugin_v9 = thinwire::plugin::abi::make_table();
}
