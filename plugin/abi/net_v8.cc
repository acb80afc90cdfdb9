// NCCL's network interface, version 8 (first in NCCL 2.20: size_t registrations).
#include "base/nccl_abi/net_v8.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v8_t make_table() {
  auto table = net_table<tw_nccl_net_v8_t, tw_nccl_net_properties_v8_t>();
  table.init = guarded<init_v6<Table::net>>;
  table.listen = guarded<net_listen_v6>;
  table.connect = guarded<net_connect_v7>;
  table.accept = guarded<net_accept_v7>;
  table.regMr = guarded<net_reg_mr>;
  table.isend = guarded<net_isend_v6>;
  table.irecv = guarded<net_irecv_v6>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v8_t ncclNetPlugin_v8;
constinit const tw_nccl_net_v8_t ncclNetPlugin_v8 = thinwire::plugin::abi::make_table();
}
