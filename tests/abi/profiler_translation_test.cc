// What the profiler's tables make of NCCL's events, seen from a core that only remembers.
#include <gtest/gtest.h>

#include "base/nccl_abi/profiler_v1.h"
#include "base/nccl_abi/profiler_v2.h"
#include "base/nccl_abi/profiler_v3.h"
#include "base/nccl_abi/profiler_v4.h"
#include "base/nccl_abi/profiler_v6.h"
#include "tests/abi/fake_core.h"

extern "C" {
extern const tw_nccl_profiler_v1_t ncclProfiler_v1;
extern const tw_nccl_profiler_v2_t ncclProfiler_v2;
extern const tw_nccl_profiler_v3_t ncclProfiler_v3;
extern const tw_nccl_profiler_v4_t ncclProfiler_v4;
extern const tw_nccl_profiler_v5_t ncclProfiler_v5;
extern const tw_nccl_profiler_v6_t ncclProfiler_v6;
}

namespace thinwire::plugin {
namespace {

void* const kContext = reinterpret_cast<void*>(0x2000);

template <class Function>
void for_each_profiler(Function function) {
  function(ncclProfiler_v1, tw_nccl_profiler_event_v1_t{});
  function(ncclProfiler_v2, tw_nccl_profiler_event_v2_t{});
  function(ncclProfiler_v3, tw_nccl_profiler_event_v3_t{});
  function(ncclProfiler_v4, tw_nccl_profiler_event_v4_t{});
  function(ncclProfiler_v5, tw_nccl_profiler_event_v5_t{});
  function(ncclProfiler_v6, tw_nccl_profiler_event_v6_t{});
}

class ProfilerTranslation : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  const fake::Call& last() const { return fake::core().last; }
};

template <class Coll>
void name_all_reduce(Coll* coll) {
  coll->func = "AllReduce";
  coll->datatype = "ncclBfloat16";
  coll->algo = "COLLNET_CHAIN";
}
void name_all_reduce(tw_nccl_profiler_coll_v1_t* coll) {
  coll->func = tw_nccl_profiler_all_reduce_v1;
  coll->datatype = tw_nccl_bfloat16;
  coll->algo = tw_nccl_profiler_collnet_chain_v1;
}

TEST_F(ProfilerTranslation, Tables_EveryVersion_OfferAll) {
  for_each_profiler([](const auto& table, const auto&) {
    EXPECT_STREQ(table.name, "Thinwire");
    EXPECT_NE(table.init, nullptr);
    EXPECT_NE(table.startEvent, nullptr);
    EXPECT_EQ(table.stopEvent(kContext), tw_nccl_success);
    EXPECT_EQ(table.recordEventState(kContext, 3, nullptr), tw_nccl_success);
    EXPECT_EQ(table.finalize(kContext), tw_nccl_success);
  });
  EXPECT_EQ(last().name, "profiler_finalize");
  EXPECT_EQ(last().context, kContext);
}

TEST_F(ProfilerTranslation, Collective_EveryVersion_ArrivesWhole) {
  for_each_profiler([this](const auto& table, auto event) {
    event.type = tw_nccl_profile_coll;
    event.coll.seqNumber = 77;
    event.coll.sendBuff = kContext;
    event.coll.recvBuff = this;
    event.coll.count = 123456789012;
    name_all_reduce(&event.coll);
    std::uint64_t hash = 0;
    if constexpr (requires { event.coll.commHash; }) hash = event.coll.commHash = 99;
    void* handle = nullptr;
    ASSERT_EQ(table.startEvent(kContext, &handle, &event), tw_nccl_success);
    EXPECT_EQ(last().name, "profiler_start_collective");
    EXPECT_EQ(last().context, kContext);
    const CollectiveEvent& got = last().collective;
    EXPECT_EQ(got.comm_hash, hash);
    EXPECT_EQ(got.sequence, 77u);
    EXPECT_EQ(got.send, kContext);
    EXPECT_EQ(got.receive, this);
    EXPECT_EQ(got.count, 123456789012u);
    EXPECT_EQ(got.type, DataType::bfloat16);
    EXPECT_TRUE(got.all_reduce);
    EXPECT_EQ(got.algorithm, CollAlgorithm::collnet_chain);
  });
}

TEST_F(ProfilerTranslation, ProxyOp_EveryVersion_ArrivesWhole) {
  for_each_profiler([this](const auto& table, auto event) {
    event.type = tw_nccl_profile_proxy_op;
    event.parentObj = this;
    event.proxyOp = {.pid = 4711,
                     .channelId = 31,
                     .peer = 1,
                     .nSteps = 1000000,
                     .chunkSize = 65536,
                     .isSend = 1};
    void* handle = nullptr;
    ASSERT_EQ(table.startEvent(kContext, &handle, &event), tw_nccl_success);
    EXPECT_EQ(last().name, "profiler_start_part");
    const ProxyOpEvent& got = last().part;
    EXPECT_EQ(got.parent, this);
    EXPECT_EQ(got.pid, 4711);
    EXPECT_EQ(got.channel, 31);
    EXPECT_EQ(got.steps, 1000000);
    EXPECT_EQ(got.chunk_bytes, 65536);
    EXPECT_TRUE(got.is_send);
  });
}

TEST_F(ProfilerTranslation, OtherEvents_EveryVersion_Indifferent) {
  for_each_profiler([this](const auto& table, auto event) {
    const unsigned bits = sizeof(event.type) * 8 < 15 ? 8 : 15;
    for (unsigned bit = 0; bit < bits; ++bit) {
      if (1u << bit == tw_nccl_profile_coll || 1u << bit == tw_nccl_profile_proxy_op) continue;
      fake::reset();
      event.type = static_cast<decltype(event.type)>(1u << bit);
      void* handle = nullptr;
      EXPECT_EQ(table.startEvent(kContext, &handle, &event), tw_nccl_success);
      EXPECT_EQ(last().name, "profiler_start_other") << "event type " << (1u << bit);
    }
    EXPECT_EQ(table.startEvent(kContext, nullptr, nullptr), tw_nccl_internal_error);
  });
}

TEST_F(ProfilerTranslation, Names_NcclsOwn_AreKnown) {
  const auto started = [this](const char* func, const char* algo, const char* type) {
    tw_nccl_profiler_event_v5_t event{};
    event.type = tw_nccl_profile_coll;
    event.coll.func = func;
    event.coll.algo = algo;
    event.coll.datatype = type;
    void* handle = nullptr;
    EXPECT_EQ(ncclProfiler_v5.startEvent(kContext, &handle, &event), tw_nccl_success);
    return last().collective;
  };
  EXPECT_EQ(started("AllReduce", "COLLNET_DIRECT", "ncclFloat16").algorithm,
            CollAlgorithm::collnet_direct);
  EXPECT_EQ(started("AllReduce", "NVLS", "ncclFloat8e5m2").algorithm, CollAlgorithm::nvls);
  EXPECT_EQ(started("AllReduce", "NVLS_TREE", "ncclInt8").algorithm, CollAlgorithm::other);
  EXPECT_EQ(started("AllReduce", "RING", "Unknown").type, std::nullopt);
  EXPECT_EQ(started("AllReduce", "RING", "ncclFloat8e5m2").type, DataType::float8_e5m2);
  EXPECT_FALSE(started("AllGather", "COLLNET_DIRECT", "ncclInt8").all_reduce);
  EXPECT_FALSE(started(nullptr, nullptr, nullptr).all_reduce);
}

TEST_F(ProfilerTranslation, Init_EveryVersion_NamesTheCommunicatorItKnows) {
  void* context = nullptr;
  int mask = 0;
  for (const auto init : {ncclProfiler_v1.init, ncclProfiler_v2.init, ncclProfiler_v3.init}) {
    ASSERT_EQ(init(&context, &mask), tw_nccl_success);
    EXPECT_EQ(last().comm.hash, 0u);
    EXPECT_EQ(last().comm.nodes, 0);
  }
  EXPECT_EQ(mask, 10);
  ASSERT_EQ(ncclProfiler_v4.init(&context, &mask, "name", 5, 2, 16, 3, nullptr), tw_nccl_success);
  EXPECT_EQ(last().comm.hash, 5u);
  EXPECT_EQ(last().comm.nodes, 2);
  EXPECT_EQ(last().comm.ranks, 16);
  EXPECT_EQ(last().comm.rank, 3);
  for (const auto init : {ncclProfiler_v5.init, ncclProfiler_v6.init}) {
    fake::reset();
    ASSERT_EQ(init(&context, 6, &mask, nullptr, 2, 16, 3, nullptr), tw_nccl_success);
    EXPECT_EQ(last().comm.hash, 6u);
    EXPECT_EQ(last().comm.nodes, 2);
    EXPECT_EQ(last().comm.ranks, 16);
    EXPECT_EQ(last().comm.rank, 3);
  }
}

TEST_F(ProfilerTranslation, CoreThrows_IsSaid) {
  fake::core().throws = true;
  for_each_profiler([](const auto& table, auto event) {
    void* handle = nullptr;
    event.type = tw_nccl_profile_group;
    EXPECT_EQ(table.startEvent(kContext, &handle, &event), tw_nccl_system_error);
    EXPECT_EQ(table.finalize(kContext), tw_nccl_system_error);
  });
}

}  // namespace
}  // namespace thinwire::plugin
