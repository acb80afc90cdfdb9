// NCCL's network interface, version 10 (first in NCCL 2.26: profiler handles, a
// configuration per connection).
#include "base/nccl_abi/net_v10.h"

#include "plugin/abi/net_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_net_v10_t make_table() {
  auto table = net_table<tw_nccl_net_v10_t, tw_nccl_net_properties_v10_t>();
  table.init = guarded<net_init_v10>;
  table.listen = guarded<net_listen_v6>;
  table.connect = guarded<net_connect_v10>;
  table.accept = guarded<net_accept_v7>;
  table.regMr = guarded<net_reg_mr>;
  table.isend = guarded<net_isend_v10>;
  table.irecv = guarded<net_irecv_v10>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_net_v10_t ncclNetPlugin_v10;
constinit const tw_nccl_net_v10_t ncclNetPlugin_v10 = thinwire::plugin::abi::make_table();
}
