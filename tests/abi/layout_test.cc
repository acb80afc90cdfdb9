// Sizes and offsets of NCCL's structures, written out as NCCL's own headers give them on 64-bit
// Linux: a slip in base/nccl_abi would otherwise corrupt a stranger's process.
#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "base/nccl_abi/net_v12.h"
#include "include/thinwire.h"

namespace {

consteval bool same(std::initializer_list<std::size_t> actual,
                    std::initializer_list<std::size_t> expected) {
  return std::ranges::equal(actual, expected);
}

namespace net_device_handle {
using T = tw_nccl_net_device_handle_t;
static_assert(sizeof(T) == 32);
static_assert(same({offsetof(T, netDeviceType), offsetof(T, netDeviceVersion), offsetof(T, handle),
                    offsetof(T, size), offsetof(T, needsProxyProgress)},
                   {0, 4, 8, 16, 24}));
}  // namespace net_device_handle

namespace net_properties_v6 {
using T = tw_nccl_net_properties_v6_t;
static_assert(sizeof(T) == 48);
static_assert(same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid),
                    offsetof(T, ptrSupport), offsetof(T, speed), offsetof(T, port),
                    offsetof(T, latency), offsetof(T, maxComms), offsetof(T, maxRecvs)},
                   {0, 8, 16, 24, 28, 32, 36, 40, 44}));
}  // namespace net_properties_v6

namespace net_v6 {
using T = tw_nccl_net_v6_t;
static_assert(sizeof(T) == 136);
static_assert(same({offsetof(T, name), offsetof(T, init), offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen), offsetof(T, connect),
                    offsetof(T, accept), offsetof(T, regMr), offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr), offsetof(T, isend), offsetof(T, irecv),
                    offsetof(T, iflush), offsetof(T, test), offsetof(T, closeSend),
                    offsetof(T, closeRecv), offsetof(T, closeListen)},
                   {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}));
}  // namespace net_v6

namespace collnet_v6 {
using T = tw_nccl_collnet_v6_t;
static_assert(sizeof(T) == 120);
static_assert(same({offsetof(T, name), offsetof(T, init), offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen), offsetof(T, connect),
                    offsetof(T, reduceSupport), offsetof(T, regMr), offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr), offsetof(T, iallreduce), offsetof(T, iflush),
                    offsetof(T, test), offsetof(T, closeColl), offsetof(T, closeListen)},
                   {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112}));
}  // namespace collnet_v6

namespace net_properties_v7 {
using T = tw_nccl_net_properties_v7_t;
static_assert(sizeof(T) == 56);
static_assert(same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid),
                    offsetof(T, ptrSupport), offsetof(T, speed), offsetof(T, port),
                    offsetof(T, latency), offsetof(T, maxComms), offsetof(T, maxRecvs),
                    offsetof(T, netDeviceType), offsetof(T, netDeviceVersion)},
                   {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52}));
}  // namespace net_properties_v7

namespace net_v7 {
using T = tw_nccl_net_v7_t;
static_assert(sizeof(T) == 152);
static_assert(
    same({offsetof(T, name), offsetof(T, init), offsetof(T, devices), offsetof(T, getProperties),
          offsetof(T, listen), offsetof(T, connect), offsetof(T, accept), offsetof(T, regMr),
          offsetof(T, regMrDmaBuf), offsetof(T, deregMr), offsetof(T, isend), offsetof(T, irecv),
          offsetof(T, iflush), offsetof(T, test), offsetof(T, closeSend), offsetof(T, closeRecv),
          offsetof(T, closeListen), offsetof(T, getDeviceMr), offsetof(T, irecvConsumed)},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144}));
}  // namespace net_v7

namespace collnet_v7 {
using T = tw_nccl_collnet_v7_t;
static_assert(sizeof(T) == 120);
static_assert(same({offsetof(T, name), offsetof(T, init), offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen), offsetof(T, connect),
                    offsetof(T, reduceSupport), offsetof(T, regMr), offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr), offsetof(T, iallreduce), offsetof(T, iflush),
                    offsetof(T, test), offsetof(T, closeColl), offsetof(T, closeListen)},
                   {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112}));
}  // namespace collnet_v7

namespace net_properties_v8 {
using T = tw_nccl_net_properties_v8_t;
static_assert(sizeof(T) == 64);
static_assert(same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid),
                    offsetof(T, ptrSupport), offsetof(T, regIsGlobal), offsetof(T, speed),
                    offsetof(T, port), offsetof(T, latency), offsetof(T, maxComms),
                    offsetof(T, maxRecvs), offsetof(T, netDeviceType),
                    offsetof(T, netDeviceVersion)},
                   {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56}));
}  // namespace net_properties_v8

namespace net_v8 {
using T = tw_nccl_net_v8_t;
static_assert(sizeof(T) == 152);
static_assert(
    same({offsetof(T, name), offsetof(T, init), offsetof(T, devices), offsetof(T, getProperties),
          offsetof(T, listen), offsetof(T, connect), offsetof(T, accept), offsetof(T, regMr),
          offsetof(T, regMrDmaBuf), offsetof(T, deregMr), offsetof(T, isend), offsetof(T, irecv),
          offsetof(T, iflush), offsetof(T, test), offsetof(T, closeSend), offsetof(T, closeRecv),
          offsetof(T, closeListen), offsetof(T, getDeviceMr), offsetof(T, irecvConsumed)},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144}));
}  // namespace net_v8

namespace net_sge_v8 {
using T = tw_nccl_net_sge_v8_t;
static_assert(sizeof(T) == 24);
static_assert(same({offsetof(T, mhandle), offsetof(T, address), offsetof(T, size)}, {0, 8, 16}));
}  // namespace net_sge_v8

namespace collnet_v8 {
using T = tw_nccl_collnet_v8_t;
static_assert(sizeof(T) == 136);
static_assert(same({offsetof(T, name), offsetof(T, init), offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen), offsetof(T, connect),
                    offsetof(T, reduceSupport), offsetof(T, regMr), offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr), offsetof(T, iallreduce), offsetof(T, iallgather),
                    offsetof(T, ireducescatter), offsetof(T, iflush), offsetof(T, test),
                    offsetof(T, closeColl), offsetof(T, closeListen)},
                   {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}));
}  // namespace collnet_v8

namespace net_vdevice_props_v9 {
using T = tw_nccl_net_vdevice_props_v9_t;
static_assert(sizeof(T) == 20);
static_assert(same({offsetof(T, ndevs), offsetof(T, devs)}, {0, 4}));
}  // namespace net_vdevice_props_v9

namespace net_properties_v9 {
using T = tw_nccl_net_properties_v9_t;
static_assert(sizeof(T) == 104);
static_assert(same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid),
                    offsetof(T, ptrSupport), offsetof(T, regIsGlobal), offsetof(T, forceFlush),
                    offsetof(T, speed), offsetof(T, port), offsetof(T, latency),
                    offsetof(T, maxComms), offsetof(T, maxRecvs), offsetof(T, netDeviceType),
                    offsetof(T, netDeviceVersion), offsetof(T, vProps), offsetof(T, maxP2pBytes),
                    offsetof(T, maxCollBytes)},
                   {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 88, 96}));
}  // namespace net_properties_v9

namespace net_v9 {
using T = tw_nccl_net_v9_t;
static_assert(sizeof(T) == 160);
static_assert(same({offsetof(T, name),          offsetof(T, init),        offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen),      offsetof(T, connect),
                    offsetof(T, accept),        offsetof(T, regMr),       offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr),       offsetof(T, isend),       offsetof(T, irecv),
                    offsetof(T, iflush),        offsetof(T, test),        offsetof(T, closeSend),
                    offsetof(T, closeRecv),     offsetof(T, closeListen), offsetof(T, getDeviceMr),
                    offsetof(T, irecvConsumed), offsetof(T, makeVDevice)},
                   {0,  8,  16, 24,  32,  40,  48,  56,  64,  72,
                    80, 88, 96, 104, 112, 120, 128, 136, 144, 152}));
}  // namespace net_v9

namespace net_sge_v9 {
using T = tw_nccl_net_sge_v9_t;
static_assert(sizeof(T) == 24);
static_assert(same({offsetof(T, mhandle), offsetof(T, address), offsetof(T, size)}, {0, 8, 16}));
}  // namespace net_sge_v9

namespace collnet_v9 {
using T = tw_nccl_collnet_v9_t;
static_assert(sizeof(T) == 144);
static_assert(same({offsetof(T, name), offsetof(T, init), offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen), offsetof(T, connect),
                    offsetof(T, reduceSupport), offsetof(T, regMr), offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr), offsetof(T, iallreduce), offsetof(T, iallgather),
                    offsetof(T, ireducescatter), offsetof(T, iflush), offsetof(T, test),
                    offsetof(T, closeColl), offsetof(T, closeListen), offsetof(T, makeVDevice)},
                   {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136}));
}  // namespace collnet_v9

namespace net_comm_config_v10 {
using T = tw_nccl_net_comm_config_v10_t;
static_assert(sizeof(T) == 4);
static_assert(same({offsetof(T, trafficClass)}, {0}));
}  // namespace net_comm_config_v10

namespace net_v10 {
using T = tw_nccl_net_v10_t;
static_assert(sizeof(T) == 160);
static_assert(same({offsetof(T, name),          offsetof(T, init),        offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen),      offsetof(T, connect),
                    offsetof(T, accept),        offsetof(T, regMr),       offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr),       offsetof(T, isend),       offsetof(T, irecv),
                    offsetof(T, iflush),        offsetof(T, test),        offsetof(T, closeSend),
                    offsetof(T, closeRecv),     offsetof(T, closeListen), offsetof(T, getDeviceMr),
                    offsetof(T, irecvConsumed), offsetof(T, makeVDevice)},
                   {0,  8,  16, 24,  32,  40,  48,  56,  64,  72,
                    80, 88, 96, 104, 112, 120, 128, 136, 144, 152}));
}  // namespace net_v10

namespace net_properties_v11 {
using T = tw_nccl_net_properties_v11_t;
static_assert(sizeof(T) == 112);
static_assert(same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid),
                    offsetof(T, ptrSupport), offsetof(T, regIsGlobal), offsetof(T, forceFlush),
                    offsetof(T, speed), offsetof(T, port), offsetof(T, latency),
                    offsetof(T, maxComms), offsetof(T, maxRecvs), offsetof(T, netDeviceType),
                    offsetof(T, netDeviceVersion), offsetof(T, vProps), offsetof(T, maxP2pBytes),
                    offsetof(T, maxCollBytes), offsetof(T, maxMultiRequestSize)},
                   {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 88, 96, 104}));
}  // namespace net_properties_v11

namespace net_comm_attr_v11 {
using T = tw_nccl_net_comm_attr_v11_t;
static_assert(sizeof(T) == 16);
static_assert(same({offsetof(T, maxConcurrentPeers), offsetof(T, minConcurrentPeers),
                    offsetof(T, maxFlowsPerPeer), offsetof(T, minFlowsPerPeer)},
                   {0, 4, 8, 12}));
}  // namespace net_comm_attr_v11

namespace net_attr_v11 {
using T = tw_nccl_net_attr_v11_t;
static_assert(sizeof(T) == 44);
static_assert(same({offsetof(T, sendCommAttr), offsetof(T, recvCommAttr), offsetof(T, op),
                    offsetof(T, algo), offsetof(T, proto)},
                   {0, 16, 32, 36, 40}));
}  // namespace net_attr_v11

namespace net_v11 {
using T = tw_nccl_net_v11_t;
static_assert(sizeof(T) == 176);
static_assert(same({offsetof(T, name),          offsetof(T, init),        offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen),      offsetof(T, connect),
                    offsetof(T, accept),        offsetof(T, regMr),       offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr),       offsetof(T, isend),       offsetof(T, irecv),
                    offsetof(T, iflush),        offsetof(T, test),        offsetof(T, closeSend),
                    offsetof(T, closeRecv),     offsetof(T, closeListen), offsetof(T, getDeviceMr),
                    offsetof(T, irecvConsumed), offsetof(T, makeVDevice), offsetof(T, finalize),
                    offsetof(T, setNetAttr)},
                   {0,  8,  16,  24,  32,  40,  48,  56,  64,  72,  80,
                    88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168}));
}  // namespace net_v11

namespace collnet_v11 {
using T = tw_nccl_collnet_v11_t;
static_assert(sizeof(T) == 152);
static_assert(
    same({offsetof(T, name), offsetof(T, init), offsetof(T, devices), offsetof(T, getProperties),
          offsetof(T, listen), offsetof(T, connect), offsetof(T, reduceSupport), offsetof(T, regMr),
          offsetof(T, regMrDmaBuf), offsetof(T, deregMr), offsetof(T, iallreduce),
          offsetof(T, iallgather), offsetof(T, ireducescatter), offsetof(T, iflush),
          offsetof(T, test), offsetof(T, closeColl), offsetof(T, closeListen),
          offsetof(T, makeVDevice), offsetof(T, finalize)},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144}));
}  // namespace collnet_v11

namespace net_vdevice_props_v12 {
using T = tw_nccl_net_vdevice_props_v12_t;
static_assert(sizeof(T) == 36);
static_assert(same({offsetof(T, ndevs), offsetof(T, devs)}, {0, 4}));
}  // namespace net_vdevice_props_v12

namespace net_properties_v12 {
using T = tw_nccl_net_properties_v12_t;
static_assert(sizeof(T) == 128);
static_assert(
    same({offsetof(T, name), offsetof(T, pciPath), offsetof(T, guid), offsetof(T, ptrSupport),
          offsetof(T, regIsGlobal), offsetof(T, forceFlush), offsetof(T, speed), offsetof(T, port),
          offsetof(T, latency), offsetof(T, maxComms), offsetof(T, maxRecvs),
          offsetof(T, netDeviceType), offsetof(T, netDeviceVersion), offsetof(T, vProps),
          offsetof(T, maxP2pBytes), offsetof(T, maxCollBytes), offsetof(T, maxMultiRequestSize),
          offsetof(T, railId), offsetof(T, planeId)},
         {0, 8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 104, 112, 120, 124, 126}));
}  // namespace net_properties_v12

namespace net_v12 {
using T = tw_nccl_net_v12_t;
static_assert(sizeof(T) == 176);
static_assert(same({offsetof(T, name),          offsetof(T, init),        offsetof(T, devices),
                    offsetof(T, getProperties), offsetof(T, listen),      offsetof(T, connect),
                    offsetof(T, accept),        offsetof(T, regMr),       offsetof(T, regMrDmaBuf),
                    offsetof(T, deregMr),       offsetof(T, isend),       offsetof(T, irecv),
                    offsetof(T, iflush),        offsetof(T, test),        offsetof(T, closeSend),
                    offsetof(T, closeRecv),     offsetof(T, closeListen), offsetof(T, getDeviceMr),
                    offsetof(T, irecvConsumed), offsetof(T, makeVDevice), offsetof(T, finalize),
                    offsetof(T, setNetAttr)},
                   {0,  8,  16,  24,  32,  40,  48,  56,  64,  72,  80,
                    88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168}));
}  // namespace net_v12

namespace collnet_v12 {
using T = tw_nccl_collnet_v12_t;
static_assert(sizeof(T) == 152);
static_assert(
    same({offsetof(T, name), offsetof(T, init), offsetof(T, devices), offsetof(T, getProperties),
          offsetof(T, listen), offsetof(T, connect), offsetof(T, reduceSupport), offsetof(T, regMr),
          offsetof(T, regMrDmaBuf), offsetof(T, deregMr), offsetof(T, iallreduce),
          offsetof(T, iallgather), offsetof(T, ireducescatter), offsetof(T, iflush),
          offsetof(T, test), offsetof(T, closeColl), offsetof(T, closeListen),
          offsetof(T, makeVDevice), offsetof(T, finalize)},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144}));
}  // namespace collnet_v12

namespace counters_v1 {
using T = thinwire_counters_v1_t;
static_assert(sizeof(T) == 136);
static_assert(same({offsetof(T, size), offsetof(T, version), offsetof(T, reserved),
                    offsetof(T, bytes_sent), offsetof(T, payload_sent), offsetof(T, messages_sent),
                    offsetof(T, unexpected_bytes), offsetof(T, strangers_refused),
                    offsetof(T, sends), offsetof(T, receives), offsetof(T, all_reduces),
                    offsetof(T, all_gathers), offsetof(T, reduce_scatters), offsetof(T, flushes),
                    offsetof(T, tensors_identified), offsetof(T, tensors_unidentified),
                    offsetof(T, identities_switched_off), offsetof(T, near_bytes)},
                   {0, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}));
}  // namespace counters_v1

// Later versions that are an earlier one under a new name.
static_assert(sizeof(tw_nccl_net_properties_v10_t) == 104);
static_assert(sizeof(tw_nccl_collnet_v10_t) == 144);
static_assert(sizeof(tw_nccl_net_comm_config_v12_t) == 4);
static_assert(sizeof(tw_nccl_net_attr_v12_t) == 44);
static_assert(sizeof(tw_nccl_net_sge_v12_t) == 24);

static_assert(sizeof(tw_nccl_result_t) == 4 && sizeof(tw_nccl_data_type_t) == 4);
static_assert(tw_nccl_remote_error == 6 && tw_nccl_invalid_usage == 5 &&
              tw_nccl_internal_error == 3 && tw_nccl_system_error == 2);
static_assert(tw_nccl_float32 == 7 && tw_nccl_bfloat16 == 9 && tw_nccl_float8_e5m2 == 11);
static_assert(tw_nccl_sum == 0 && tw_nccl_prod == 1 && tw_nccl_max == 2 && tw_nccl_min == 3);
static_assert(tw_nccl_handle_bytes == 128);

}  // namespace
