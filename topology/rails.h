// Rails and planes of a machine's NICs, as the user's lists of devices name them. Pure; any thread.
#pragma once

#include "base/device_list.h"
#include "topology/topology.h"

namespace thinwire::topology {

// `rdma`: NCCL_IB_HCA, by RDMA names; `net`: NCCL_SOCKET_IFNAME, by the others'. A NIC that both
// name is what the first says.
void name_rails(const DeviceList& rdma, const DeviceList& net, Machine& machine);

}  // namespace thinwire::topology
