// NCCL's network interface, version 6 (NCCL <= 2.17).
#include "base/nccl_abi/net_v6.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v6_t make_table() {
  auto table = net_table<tw_nccl_net_v6_t, tw_nccl_net_properties_v6_t>();
  table.init = guarded<init_v6<Table::net>>;
  table.listen = guarded<net_listen_v6>;
  table.connect = guarded<net_connect_v6>;
  table.accept = guarded<net_accept>;
  table.regMr = guarded<reg_mr_v6<Table::net>>;
  table.isend = guarded<net_isend_v6>;
  table.irecv = guarded<net_irecv_v6>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v6_t ncclNetPlugin_v6;
constinit const tw_nccl_net_v6_t ncclNetPlugin_v6 = thinwire::plugin::abi::make_table();
}
