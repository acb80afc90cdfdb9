// Translations that both tables share: properties, life, memory. Each function is named after the
// interface version that brought its signature. Called by NCCL's threads, through guarded<>.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "base/nccl_abi/net_v12.h"
#include "plugin/abi/guard.h"
#include "plugin/core.h"

namespace thinwire::plugin::abi {

inline constexpr const char* kName = "Thinwire";

// NCCL passes int in old versions and for flushes: negative is misuse, never a huge size_t.
constexpr bool is_size(int bytes) { return bytes >= 0; }

inline tw_nccl_result_t refuse(void** request) {
  *request = nullptr;
  return tw_nccl_internal_error;
}

// The devices that `dev` is made of, as far as the version has room for them.
template <class Members>
void fill_members(const Properties& source, int dev, Members* target) {
  target->ndevs = 1;
  target->devs[0] = dev;
  if (source.member_count == 0) return;
  const auto room = static_cast<int>(std::size(target->devs));
  target->ndevs = std::min(source.member_count, room);
  std::copy_n(source.members.begin(), target->ndevs, target->devs);
}

// Fills what the version's struct has; each field was brought by the version named.
template <class Target>
void fill_properties(const Properties& source, int dev, Target* target) {
  *target = Target{};
  target->name = source.name;
  target->pciPath = source.pci_path;
  target->guid = source.guid;
  target->ptrSupport = source.ptr_support;
  target->speed = source.speed_mbps;
  target->port = source.port;
  target->latency = source.latency_us;
  target->maxComms = source.max_comms;
  target->maxRecvs = source.max_recvs;
  if constexpr (requires { target->netDeviceType; }) {  // v7
    target->netDeviceType = tw_nccl_net_device_host;
    target->netDeviceVersion = 0;
  }
  if constexpr (requires { target->regIsGlobal; }) {  // v8
    target->regIsGlobal = source.reg_is_global ? 1 : 0;
  }
  if constexpr (requires { target->vProps; }) {  // v9
    target->forceFlush = source.force_flush ? 1 : 0;
    fill_members(source, dev, &target->vProps);
    target->maxP2pBytes = source.max_p2p_bytes;
    target->maxCollBytes = source.max_coll_bytes;
  }
  if constexpr (requires { target->maxMultiRequestSize; }) {  // v11
    target->maxMultiRequestSize = 1;
  }
  if constexpr (requires { target->railId; }) {  // v12
    target->railId = source.rail_id;
    target->planeId = source.plane_id;
  }
}

template <Table kTable, class Target>
tw_nccl_result_t get_properties(int dev, Target* target) {
  Properties properties{};
  const tw_nccl_result_t result = core_properties(kTable, dev, &properties);
  if (result == tw_nccl_success) fill_properties(properties, dev, target);
  return result;
}

template <Table kTable, class Members>
tw_nccl_result_t make_vdevice_v9(int* dev, Members* members) {
  if (dev == nullptr || members == nullptr) return tw_nccl_internal_error;
  constexpr int kLimit = std::extent_v<decltype(members->devs)>;
  return core_make_vdevice(kTable, members->ndevs, members->devs, kLimit, dev);
}

// Sets the entry where the version has it. It is never null: the transport is not known yet, and
// NCCL goes on with single devices where a call is refused.
template <Table kTable, class T, class NetProperties>
constexpr void offer_merging(T& table) {
  if constexpr (requires { table.makeVDevice; }) {
    table.makeVDevice = guarded<make_vdevice_v9<kTable, decltype(NetProperties::vProps)>>;
  }
}

template <Table kTable>
tw_nccl_result_t devices(int* count) {
  return core_devices(kTable, count);
}

template <Table kTable>
tw_nccl_result_t init_v6(tw_nccl_logger_t logger) {
  return core_init(kTable, nullptr, 0, tw_nccl_undefined, logger);
}

template <Table kTable>
tw_nccl_result_t finalize_v11(void* ctx) {
  return core_finalize(kTable, ctx);
}

template <Table kTable>
tw_nccl_result_t reg_mr_v6(void* comm, void* data, int bytes, int kind, void** mhandle) {
  constexpr auto kRegister = kTable == Table::net ? net_reg_mr : coll_reg_mr;
  if (!is_size(bytes)) return tw_nccl_internal_error;
  return kRegister(comm, data, static_cast<std::size_t>(bytes), kind, mhandle);
}

}  // namespace thinwire::plugin::abi
