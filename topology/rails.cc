#include "topology/rails.h"

namespace thinwire::topology {

namespace {
constexpr int kAnyPort = 0;
}

void name_rails(const DeviceList& rdma, const DeviceList& net, Machine& machine) {
  for (Nic& nic : machine.nics) {
    if (!nic.rdma_name.empty()) nic.ids = rdma.ids_of(nic.rdma_name, kAnyPort);
    if (nic.ids == RailIds{} && !nic.net_name.empty()) {
      nic.ids = net.ids_of(nic.net_name, kAnyPort);
    }
  }
}

}  // namespace thinwire::topology
