// What the exported tables make of NCCL's arguments, seen from a core that only remembers.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/nccl_abi/net_v12.h"
#include "tests/abi/fake_core.h"

extern "C" {
extern const tw_nccl_net_v6_t ncclNetPlugin_v6;
extern const tw_nccl_net_v7_t ncclNetPlugin_v7;
extern const tw_nccl_net_v8_t ncclNetPlugin_v8;
extern const tw_nccl_net_v9_t ncclNetPlugin_v9;
extern const tw_nccl_net_v10_t ncclNetPlugin_v10;
extern const tw_nccl_net_v11_t ncclNetPlugin_v11;
extern const tw_nccl_net_v12_t ncclNetPlugin_v12;
extern const tw_nccl_collnet_v6_t ncclCollNetPlugin_v6;
extern const tw_nccl_collnet_v7_t ncclCollNetPlugin_v7;
extern const tw_nccl_collnet_v8_t ncclCollNetPlugin_v8;
extern const tw_nccl_collnet_v9_t ncclCollNetPlugin_v9;
extern const tw_nccl_collnet_v10_t ncclCollNetPlugin_v10;
extern const tw_nccl_collnet_v11_t ncclCollNetPlugin_v11;
extern const tw_nccl_collnet_v12_t ncclCollNetPlugin_v12;
}

namespace thinwire::plugin {
namespace {

void* const kStale = reinterpret_cast<void*>(0x1);
void* const kComm = reinterpret_cast<void*>(0x1000);

class Translation : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  const fake::Call& last() const { return fake::core().last; }
};

template <class Function>
void for_each_net(Function function) {
  function(ncclNetPlugin_v6);
  function(ncclNetPlugin_v7);
  function(ncclNetPlugin_v8);
  function(ncclNetPlugin_v9);
  function(ncclNetPlugin_v10);
  function(ncclNetPlugin_v11);
  function(ncclNetPlugin_v12);
}

template <class Function>
void for_each_collnet(Function function) {
  function(ncclCollNetPlugin_v6);
  function(ncclCollNetPlugin_v7);
  function(ncclCollNetPlugin_v8);
  function(ncclCollNetPlugin_v9);
  function(ncclCollNetPlugin_v10);
  function(ncclCollNetPlugin_v11);
  function(ncclCollNetPlugin_v12);
}

// The entries that must stay null: NCCL takes them as "not offered".
template <class T>
std::size_t null_entries(const T& table) {
  void* entries[sizeof(T) / sizeof(void*)];
  std::memcpy(entries, &table, sizeof table);
  return static_cast<std::size_t>(std::count(std::begin(entries), std::end(entries), nullptr));
}

TEST_F(Translation, NetTables_EveryVersion_OfferAllButOffload) {
  for_each_net([](const auto& table) {
    std::size_t expected = 0;
    if constexpr (requires { table.getDeviceMr; }) {
      EXPECT_EQ(table.getDeviceMr, nullptr);
      EXPECT_EQ(table.irecvConsumed, nullptr);
      expected += 2;
    }
    EXPECT_EQ(null_entries(table), expected);
    EXPECT_STREQ(table.name, "Thinwire");
  });
}

TEST_F(Translation, CollNetTables_EveryVersion_OfferEverything) {
  for_each_collnet([](const auto& table) {
    EXPECT_EQ(null_entries(table), 0u);
    EXPECT_STREQ(table.name, "Thinwire");
  });
}

template <class T>
void expect_properties(tw_nccl_result_t (*get)(int, T*)) {
  T got;
  std::memset(&got, 0xff, sizeof got);
  ASSERT_EQ(get(2, &got), tw_nccl_success);
  EXPECT_STREQ(got.name, "eth7");
  EXPECT_STREQ(got.pciPath, "/sys/devices/x");
  EXPECT_EQ(got.guid, 11u);
  EXPECT_EQ(got.ptrSupport, tw_nccl_ptr_host);
  EXPECT_EQ(got.speed, 25000);
  EXPECT_EQ(got.port, 4);
  EXPECT_EQ(got.latency, 1.5f);
  EXPECT_EQ(got.maxComms, 77);
  EXPECT_EQ(got.maxRecvs, 8);
  if constexpr (requires { got.netDeviceType; }) {
    EXPECT_EQ(got.netDeviceType, tw_nccl_net_device_host);
    EXPECT_EQ(got.netDeviceVersion, 0);
  }
  if constexpr (requires { got.regIsGlobal; }) {
    EXPECT_EQ(got.regIsGlobal, 1);
  }
  if constexpr (requires { got.vProps; }) {
    EXPECT_EQ(got.forceFlush, 1);
    EXPECT_EQ(got.vProps.ndevs, 1);
    EXPECT_EQ(got.vProps.devs[0], 2);
    EXPECT_EQ(got.maxP2pBytes, std::size_t{1} << 40);
    EXPECT_EQ(got.maxCollBytes, std::size_t{1} << 39);
  }
  if constexpr (requires { got.maxMultiRequestSize; }) {
    EXPECT_EQ(got.maxMultiRequestSize, 1);
  }
  if constexpr (requires { got.railId; }) {
    EXPECT_EQ(got.railId, 5);
    EXPECT_EQ(got.planeId, -1);
  }
}

TEST_F(Translation, Properties_EveryVersion_CarryEveryField) {
  fake::core().properties = {.name = "eth7",
                             .pci_path = "/sys/devices/x",
                             .guid = 11,
                             .ptr_support = tw_nccl_ptr_host,
                             .reg_is_global = true,
                             .force_flush = true,
                             .speed_mbps = 25000,
                             .port = 4,
                             .latency_us = 1.5f,
                             .max_comms = 77,
                             .max_recvs = 8,
                             .max_p2p_bytes = std::size_t{1} << 40,
                             .max_coll_bytes = std::size_t{1} << 39,
                             .rail_id = 5,
                             .plane_id = -1,
                             .member_count = 0,
                             .members = {}};
  for_each_net([](const auto& table) { expect_properties(table.getProperties); });
  for_each_collnet([](const auto& table) { expect_properties(table.getProperties); });
}

// As many members as the version has room for.
template <class T>
void expect_members(tw_nccl_result_t (*get)(int, T*)) {
  if constexpr (requires(T got) { got.vProps; }) {
    T got{};
    constexpr int kRoom = std::extent_v<decltype(got.vProps.devs)>;
    ASSERT_EQ(get(9, &got), tw_nccl_success);
    EXPECT_EQ(got.vProps.ndevs, std::min(5, kRoom));
    EXPECT_EQ(got.vProps.devs[0], 3);
    EXPECT_EQ(got.vProps.devs[1], 1);
  }
}

TEST_F(Translation, Properties_OfAMergedDevice_NameItsMembers) {
  fake::core().properties.member_count = 5;
  fake::core().properties.members = {3, 1, 4, 0, 2};
  for_each_net([](const auto& table) { expect_members(table.getProperties); });
  for_each_collnet([](const auto& table) { expect_members(table.getProperties); });
}

template <class Members>
void expect_merge(tw_nccl_result_t (*make)(int*, Members*), const char* name) {
  Members members{};
  members.ndevs = 3;
  members.devs[0] = 7;
  members.devs[2] = 5;
  int dev = -1;
  EXPECT_EQ(make(&dev, &members), tw_nccl_success);
  EXPECT_EQ(dev, 12);
  const fake::Call& call = fake::core().last;
  EXPECT_EQ(call.name, name);
  EXPECT_EQ(call.count, 3);
  EXPECT_EQ(call.bytes[0], 7u);
  EXPECT_EQ(call.bytes[2], 5u);
  EXPECT_EQ(call.traffic_class, static_cast<int>(std::extent_v<decltype(members.devs)>));
  EXPECT_EQ(make(nullptr, &members), tw_nccl_internal_error);
  EXPECT_EQ(make(&dev, nullptr), tw_nccl_internal_error);
}

TEST_F(Translation, MakeVDevice_V9AndLater_PassesTheMembersAndTheVersionsLimit) {
  for_each_net([](const auto& table) {
    if constexpr (requires { table.makeVDevice; }) expect_merge(table.makeVDevice, "merge net");
  });
  for_each_collnet([](const auto& table) {
    if constexpr (requires { table.makeVDevice; }) expect_merge(table.makeVDevice, "merge collnet");
  });
}

TEST_F(Translation, Init_OldVersions_UseTheDefaultContext) {
  EXPECT_EQ(ncclNetPlugin_v8.init(nullptr), tw_nccl_success);
  EXPECT_EQ(last().name, "init net");
  EXPECT_EQ(last().context, nullptr);
  EXPECT_EQ(last().traffic_class, tw_nccl_undefined);
  EXPECT_EQ(ncclNetPlugin_v10.init(nullptr, nullptr), tw_nccl_success);
  EXPECT_EQ(last().context, nullptr);
  EXPECT_EQ(ncclCollNetPlugin_v10.init(nullptr), tw_nccl_success);
  EXPECT_EQ(last().name, "init collnet");
}

TEST_F(Translation, Init_V11_PassesContextIdAndTrafficClass) {
  void* ctx = nullptr;
  tw_nccl_net_comm_config_v11_t config{.trafficClass = 106};
  EXPECT_EQ(ncclNetPlugin_v11.init(&ctx, 42, &config, nullptr, nullptr), tw_nccl_success);
  EXPECT_EQ(last().context, &ctx);
  EXPECT_EQ(last().comm_id, 42u);
  EXPECT_EQ(last().traffic_class, 106);
  EXPECT_EQ(ncclNetPlugin_v12.init(&ctx, 43, nullptr, nullptr, nullptr), tw_nccl_success);
  EXPECT_EQ(last().traffic_class, tw_nccl_undefined);
  EXPECT_EQ(ncclCollNetPlugin_v12.finalize(kComm), tw_nccl_success);
  EXPECT_EQ(last().name, "finalize collnet");
}

TEST_F(Translation, Connect_EveryVersion_SaysThatThereIsNoOffload) {
  auto* device_comm = reinterpret_cast<tw_nccl_net_device_handle_t*>(kStale);
  EXPECT_EQ(ncclNetPlugin_v7.connect(0, nullptr, nullptr, &device_comm), tw_nccl_success);
  EXPECT_EQ(device_comm, nullptr);
  device_comm = reinterpret_cast<tw_nccl_net_device_handle_t*>(kStale);
  EXPECT_EQ(ncclNetPlugin_v11.connect(kComm, 0, nullptr, nullptr, &device_comm), tw_nccl_success);
  EXPECT_EQ(device_comm, nullptr);
  EXPECT_EQ(last().context, kComm);
  device_comm = reinterpret_cast<tw_nccl_net_device_handle_t*>(kStale);
  EXPECT_EQ(ncclNetPlugin_v12.accept(kComm, nullptr, &device_comm), tw_nccl_success);
  EXPECT_EQ(device_comm, nullptr);
}

TEST_F(Translation, Send_NegativeSize_RefusedWithNullRequest) {
  void* request = kStale;
  EXPECT_EQ(ncclNetPlugin_v6.isend(kComm, nullptr, -1, 0, nullptr, &request),
            tw_nccl_internal_error);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(last().name, "");
  EXPECT_EQ(ncclNetPlugin_v6.isend(kComm, nullptr, INT_MAX, 0, nullptr, &request), tw_nccl_success);
  EXPECT_EQ(last().bytes[0], static_cast<std::size_t>(INT_MAX));
}

TEST_F(Translation, Send_AboveFourGigabytes_KeepsItsSize) {
  void* request = kStale;
  const std::size_t big = (std::size_t{1} << 32) + 5;
  EXPECT_EQ(ncclNetPlugin_v9.isend(kComm, nullptr, big, 0, kComm, &request), tw_nccl_success);
  EXPECT_EQ(last().bytes[0], big);
  EXPECT_EQ(ncclNetPlugin_v12.isend(kComm, nullptr, big + 1, 0, kComm, nullptr, &request),
            tw_nccl_success);
  EXPECT_EQ(last().bytes[0], big + 1);
  EXPECT_EQ(last().mhandles[0], kComm);
}

TEST_F(Translation, Receive_OldVersions_WidenSizesAndRefuseBadOnes) {
  void* data[9] = {kStale, kComm};
  int sizes[9] = {7, INT_MAX};
  int tags[9] = {};
  void* mhandles[9] = {nullptr, kStale};
  void* request = kStale;
  EXPECT_EQ(ncclNetPlugin_v8.irecv(kComm, 2, data, sizes, tags, mhandles, &request),
            tw_nccl_success);
  EXPECT_EQ(last().count, 2);
  EXPECT_EQ(last().bytes[0], 7u);
  EXPECT_EQ(last().bytes[1], static_cast<std::size_t>(INT_MAX));
  EXPECT_EQ(last().addresses[1], kComm);
  EXPECT_EQ(request, kStale) << "the hint in *request is the core's to read";

  for (const int bad : {9, -1}) {
    request = kStale;
    EXPECT_EQ(ncclNetPlugin_v8.irecv(kComm, bad, data, sizes, tags, mhandles, &request),
              tw_nccl_internal_error);
    EXPECT_EQ(request, nullptr);
  }
  sizes[1] = -2;
  request = kStale;
  EXPECT_EQ(ncclNetPlugin_v6.irecv(kComm, 2, data, sizes, tags, mhandles, &request),
            tw_nccl_internal_error);
  EXPECT_EQ(request, nullptr);
}

TEST_F(Translation, Register_NegativeSize_Refused) {
  EXPECT_EQ(ncclNetPlugin_v7.regMr(kComm, nullptr, -1, tw_nccl_ptr_host, nullptr),
            tw_nccl_internal_error);
  EXPECT_EQ(ncclCollNetPlugin_v6.regMr(kComm, nullptr, -1, tw_nccl_ptr_host, nullptr),
            tw_nccl_internal_error);
  EXPECT_EQ(ncclCollNetPlugin_v7.regMr(kComm, nullptr, 5, tw_nccl_ptr_host, nullptr),
            tw_nccl_success);
  EXPECT_EQ(last().name, "coll_reg_mr");
  EXPECT_EQ(last().bytes[0], 5u);
}

TEST_F(Translation, AllReduce_NegativeCount_RefusedWithNullRequest) {
  void* request = kStale;
  EXPECT_EQ(ncclCollNetPlugin_v8.iallreduce(kComm, nullptr, nullptr, -1, tw_nccl_float32,
                                            tw_nccl_sum, nullptr, nullptr, &request),
            tw_nccl_internal_error);
  EXPECT_EQ(request, nullptr);
}

TEST_F(Translation, Parts_BothLayouts_ArriveInOrder) {
  void* request = kStale;
  tw_nccl_net_sge_v8_t narrow[] = {{kStale, kComm, UINT32_MAX}, {nullptr, kStale, 3}};
  EXPECT_EQ(ncclCollNetPlugin_v8.iallgather(kComm, nullptr, 2, narrow, 1, 0, 1, nullptr, &request),
            tw_nccl_success);
  EXPECT_EQ(last().count, 2);
  EXPECT_EQ(last().bytes[0], UINT32_MAX);
  EXPECT_EQ(last().bytes[1], 3u);
  EXPECT_EQ(last().addresses[0], kComm);
  EXPECT_EQ(last().mhandles[0], kStale);

  tw_nccl_net_sge_v9_t wide[] = {{nullptr, kStale, std::size_t{1} << 33}};
  EXPECT_EQ(ncclCollNetPlugin_v12.ireducescatter(kComm, 1, wide, nullptr, 1, 0, 1, tw_nccl_float32,
                                                 tw_nccl_sum, nullptr, &request),
            tw_nccl_success);
  EXPECT_EQ(last().name, "coll_ireducescatter");
  EXPECT_EQ(last().bytes[0], std::size_t{1} << 33);
}

TEST_F(Translation, Parts_MoreThanFit_RefusedWithNullRequest) {
  tw_nccl_net_sge_v9_t part{};
  for (const int bad : {-1, 65}) {
    void* request = kStale;
    EXPECT_EQ(
        ncclCollNetPlugin_v9.iallgather(kComm, nullptr, bad, &part, 1, 0, 1, nullptr, &request),
        tw_nccl_internal_error);
    EXPECT_EQ(request, nullptr);
  }
}

TEST_F(Translation, SetNetAttr_EveryField_Arrives) {
  tw_nccl_net_attr_v11_t attributes{{1, 2, 3, 4}, {5, 6, 7, -1}, 8, 9, UINT32_MAX};
  EXPECT_EQ(ncclNetPlugin_v11.setNetAttr(kComm, &attributes), tw_nccl_success);
  const Attributes& got = last().attributes;
  EXPECT_EQ(got.send.max_concurrent_peers, 1);
  EXPECT_EQ(got.send.min_concurrent_peers, 2);
  EXPECT_EQ(got.send.max_flows_per_peer, 3);
  EXPECT_EQ(got.send.min_flows_per_peer, 4);
  EXPECT_EQ(got.receive.max_concurrent_peers, 5);
  EXPECT_EQ(got.receive.min_flows_per_peer, -1);
  EXPECT_EQ(got.op, 8u);
  EXPECT_EQ(got.algo, 9u);
  EXPECT_EQ(got.proto, UINT32_MAX);
}

TEST_F(Translation, CoreThrows_EveryVersion_IsSaid) {
  fake::core().throws = true;
  int done = 0;
  for_each_net([&](const auto& table) {
    EXPECT_EQ(table.devices(&done), tw_nccl_system_error);
    EXPECT_EQ(table.test(kComm, &done, nullptr), tw_nccl_system_error);
    EXPECT_EQ(table.closeListen(kComm), tw_nccl_system_error);
    EXPECT_EQ(table.regMrDmaBuf(kComm, nullptr, 1, 1, 0, 0, nullptr), tw_nccl_system_error);
  });
  for_each_collnet([&](const auto& table) {
    EXPECT_EQ(table.reduceSupport(0, 0, &done), tw_nccl_system_error);
    EXPECT_EQ(table.connect(nullptr, 1, 0, kComm, nullptr), tw_nccl_system_error);
    EXPECT_EQ(table.closeColl(kComm), tw_nccl_system_error);
  });
  thinwire_counters_v1_t counters{};
  counters.size = sizeof counters;
  EXPECT_EQ(thinwireCounters_v1(&counters), -1);
}

TEST_F(Translation, Counters_CallersSize_IsRespected) {
  fake::core().counters.bytes_sent = 12;
  fake::core().counters.flushes = 34;
  thinwire_counters_v1_t counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(thinwireCounters_v1(&counters), 0);
  EXPECT_EQ(counters.size, sizeof counters);
  EXPECT_EQ(counters.version, 1u);
  EXPECT_EQ(counters.bytes_sent, 12u);
  EXPECT_EQ(counters.flushes, 34u);

  counters = {};
  counters.size = offsetof(thinwire_counters_v1_t, flushes);
  counters.flushes = 99;
  ASSERT_EQ(thinwireCounters_v1(&counters), 0);
  EXPECT_EQ(counters.bytes_sent, 12u);
  EXPECT_EQ(counters.flushes, 99u) << "wrote beyond the caller's struct";

  counters.size = 4;
  EXPECT_EQ(thinwireCounters_v1(&counters), -1);
  EXPECT_EQ(thinwireCounters_v1(nullptr), -1);
}

}  // namespace
}  // namespace thinwire::plugin
