// Sizes and offsets of NCCL's profiler structs, written out as NCCL's own headers give them on
// 64-bit Linux.
#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "base/nccl_abi/profiler_v1.h"
#include "base/nccl_abi/profiler_v2.h"
#include "base/nccl_abi/profiler_v3.h"
#include "base/nccl_abi/profiler_v4.h"
#include "base/nccl_abi/profiler_v6.h"

namespace {

consteval bool same(std::initializer_list<std::size_t> actual,
                    std::initializer_list<std::size_t> expected) {
  return std::ranges::equal(actual, expected);
}

template <class T>
consteval bool is_table() {
  return sizeof(T) == 48 &&
         same({offsetof(T, name), offsetof(T, init), offsetof(T, startEvent),
               offsetof(T, stopEvent), offsetof(T, recordEventState), offsetof(T, finalize)},
              {0, 8, 16, 24, 32, 40});
}
static_assert(is_table<tw_nccl_profiler_v1_t>() && is_table<tw_nccl_profiler_v2_t>());
static_assert(is_table<tw_nccl_profiler_v3_t>() && is_table<tw_nccl_profiler_v4_t>());
static_assert(is_table<tw_nccl_profiler_v5_t>() && is_table<tw_nccl_profiler_v6_t>());

// What all descriptors share, and the proxy operation, which never changed.
template <class T>
consteval bool is_event(std::size_t bytes, std::size_t type_bytes) {
  return sizeof(T) == bytes && sizeof(T::type) == type_bytes &&
         same({offsetof(T, type), offsetof(T, parentObj), offsetof(T, rank), offsetof(T, coll),
               offsetof(T, p2p), offsetof(T, proxyOp.pid), offsetof(T, proxyOp.channelId),
               offsetof(T, proxyOp.peer), offsetof(T, proxyOp.nSteps),
               offsetof(T, proxyOp.chunkSize), offsetof(T, proxyOp.isSend), offsetof(T, proxyStep)},
              {0, 8, 16, 24, 24, 24, 28, 32, 36, 40, 44, 24});
}
static_assert(is_event<tw_nccl_profiler_event_v1_t>(120, 1));
static_assert(is_event<tw_nccl_profiler_event_v2_t>(128, 1));
static_assert(is_event<tw_nccl_profiler_event_v3_t>(120, 1));
static_assert(is_event<tw_nccl_profiler_event_v4_t>(104, 1));
static_assert(is_event<tw_nccl_profiler_event_v5_t>(112, 8));
static_assert(is_event<tw_nccl_profiler_event_v6_t>(112, 8));

namespace coll_v1 {
using T = tw_nccl_profiler_event_v1_t;
static_assert(same({offsetof(T, coll.name), offsetof(T, coll.commHash), offsetof(T, coll.seqNumber),
                    offsetof(T, coll.func), offsetof(T, coll.sendBuff), offsetof(T, coll.recvBuff),
                    offsetof(T, coll.count), offsetof(T, coll.root), offsetof(T, coll.datatype),
                    offsetof(T, coll.op), offsetof(T, coll.trafficBytes),
                    offsetof(T, coll.nMaxChannels), offsetof(T, coll.nWarps),
                    offsetof(T, coll.algo), offsetof(T, coll.proto), offsetof(T, coll.isCollnet),
                    offsetof(T, coll.isNvls), offsetof(T, p2p.peer)},
                   {24, 32, 40, 48, 56, 64, 72, 80, 84, 88, 96, 104, 105, 106, 107, 108, 112, 72}));
}  // namespace coll_v1

namespace coll_v2 {
using T = tw_nccl_profiler_event_v2_t;
static_assert(same({offsetof(T, coll.func), offsetof(T, coll.sendBuff), offsetof(T, coll.recvBuff),
                    offsetof(T, coll.count), offsetof(T, coll.root), offsetof(T, coll.datatype),
                    offsetof(T, coll.trafficBytes), offsetof(T, coll.nMaxChannels),
                    offsetof(T, coll.nWarps), offsetof(T, coll.algo), offsetof(T, coll.proto),
                    offsetof(T, p2p.peer)},
                   {48, 56, 64, 72, 80, 88, 96, 104, 105, 112, 120, 72}));
}  // namespace coll_v2

namespace coll_v3 {
using T = tw_nccl_profiler_event_v3_t;
static_assert(same({offsetof(T, coll.commHash), offsetof(T, coll.seqNumber), offsetof(T, coll.func),
                    offsetof(T, coll.sendBuff), offsetof(T, coll.recvBuff), offsetof(T, coll.count),
                    offsetof(T, coll.root), offsetof(T, coll.datatype),
                    offsetof(T, coll.nMaxChannels), offsetof(T, coll.nWarps),
                    offsetof(T, coll.algo), offsetof(T, coll.proto), offsetof(T, kernelCh),
                    offsetof(T, netPlugin.id), offsetof(T, netPlugin.data)},
                   {32, 40, 48, 56, 64, 72, 80, 88, 96, 97, 104, 112, 24, 24, 32}));
}  // namespace coll_v3

template <class T>
consteval bool is_coll_v4() {
  return same({offsetof(T, coll.seqNumber), offsetof(T, coll.func), offsetof(T, coll.sendBuff),
               offsetof(T, coll.recvBuff), offsetof(T, coll.count), offsetof(T, coll.root),
               offsetof(T, coll.datatype), offsetof(T, coll.nChannels), offsetof(T, coll.nWarps),
               offsetof(T, coll.algo), offsetof(T, coll.proto), offsetof(T, p2p.peer),
               offsetof(T, p2p.nChannels), offsetof(T, kernelCh.pTimer)},
              {24, 32, 40, 48, 56, 64, 72, 80, 81, 88, 96, 56, 60, 32});
}
static_assert(is_coll_v4<tw_nccl_profiler_event_v4_t>());
static_assert(is_coll_v4<tw_nccl_profiler_event_v5_t>());
static_assert(is_coll_v4<tw_nccl_profiler_event_v6_t>());

template <class T>
consteval bool has_api_events() {
  return same({offsetof(T, coll.parentGroup), offsetof(T, p2p.parentGroup),
               offsetof(T, groupApi.groupDepth), offsetof(T, collApi.stream),
               offsetof(T, collApi.graphCaptured), offsetof(T, p2pApi.graphCaptured),
               offsetof(T, kernelLaunch.stream)},
              {104, 64, 28, 56, 64, 56, 24});
}
static_assert(has_api_events<tw_nccl_profiler_event_v5_t>());
static_assert(has_api_events<tw_nccl_profiler_event_v6_t>());

namespace copy_engine_v6 {
using T = tw_nccl_profiler_event_v6_t;
static_assert(same({offsetof(T, ceColl.seqNumber), offsetof(T, ceColl.count),
                    offsetof(T, ceColl.syncStrategy), offsetof(T, ceColl.intraBatchSync),
                    offsetof(T, ceColl.batchSize), offsetof(T, ceColl.numBatches),
                    offsetof(T, ceColl.ceSeqNum), offsetof(T, ceColl.stream),
                    offsetof(T, ceCollSync.nRanks), offsetof(T, ceCollBatch.totalBytes),
                    offsetof(T, ceCollBatch.useIntraSync)},
                   {24, 56, 80, 88, 92, 96, 100, 104, 28, 32, 40}));
}  // namespace copy_engine_v6

static_assert(tw_nccl_profile_coll == 2 && tw_nccl_profile_proxy_op == 8 &&
              tw_nccl_profile_group_api == 256 && tw_nccl_profile_ce_batch == 16384);

}  // namespace
