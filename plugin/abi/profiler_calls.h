// Profiler translations shared by profiler_v1.cc .. profiler_v6.cc. Called by the application's
// threads and NCCL's progress threads, through guarded<>.
#pragma once

#include <array>
#include <string_view>

#include "base/nccl_abi/profiler_v1.h"
#include "plugin/abi/guard.h"
#include "plugin/core.h"

namespace thinwire::plugin::abi {

inline constexpr const char* kProfilerName = "Thinwire";

// NCCL's names of the types (ncclDatatypeToString), in the order of DataType; it has none for
// uint8, which comes as "Unknown".
inline constexpr std::array<std::string_view, kDataTypeCount> kTypeNames{
    "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

inline std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

inline std::optional<DataType> type_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

inline CollAlgorithm algorithm_named(std::string_view name) {
  if (name == "COLLNET_DIRECT") return CollAlgorithm::collnet_direct;
  if (name == "COLLNET_CHAIN") return CollAlgorithm::collnet_chain;
  if (name == "NVLS") return CollAlgorithm::nvls;
  return CollAlgorithm::other;
}

inline CollAlgorithm algorithm_numbered(int number) {
  switch (number) {
    case tw_nccl_profiler_collnet_direct_v1:
      return CollAlgorithm::collnet_direct;
    case tw_nccl_profiler_collnet_chain_v1:
      return CollAlgorithm::collnet_chain;
    case tw_nccl_profiler_nvls_v1:
      return CollAlgorithm::nvls;
    default:
      return CollAlgorithm::other;
  }
}

inline void translate_kind(const tw_nccl_profiler_coll_v1_t& source, CollectiveEvent* event) {
  event->all_reduce = source.func == tw_nccl_profiler_all_reduce_v1;
  event->algorithm = algorithm_numbered(source.algo);
  if (source.datatype < kDataTypeCount) event->type = static_cast<DataType>(source.datatype);
}

template <class Coll>
void translate_kind(const Coll& source, CollectiveEvent* event) {
  event->all_reduce = text_of(source.func) == "AllReduce";
  event->algorithm = algorithm_named(text_of(source.algo));
  event->type = type_named(text_of(source.datatype));
}

template <class Coll>
CollectiveEvent translate_collective(const Coll& source) {
  CollectiveEvent event;
  if constexpr (requires { source.commHash; }) event.comm_hash = source.commHash;  // until v3
  event.sequence = source.seqNumber;
  event.send = source.sendBuff;
  event.receive = source.recvBuff;
  event.count = source.count;
  translate_kind(source, &event);
  return event;
}

inline ProxyOpEvent translate_part(const void* parent,
                                   const tw_nccl_profiler_proxy_op_v1_t& source) {
  return {.parent = parent,
          .pid = source.pid,
          .channel = source.channelId,
          .steps = source.nSteps,
          .chunk_bytes = source.chunkSize,
          .is_send = source.isSend != 0};
}

inline tw_nccl_result_t profiler_init_v1(void** context, int* mask) {
  return profiler_init(context, mask, {});
}

inline tw_nccl_result_t profiler_init_v4(void** context, int* mask, const char*, std::uint64_t hash,
                                         int nodes, int ranks, int rank, tw_nccl_logger_t) {
  return profiler_init(context, mask, {hash, nodes, ranks, rank});
}

inline tw_nccl_result_t profiler_init_v5(void** context, std::uint64_t id, int* mask, const char*,
                                         int nodes, int ranks, int rank, tw_nccl_logger_t) {
  return profiler_init(context, mask, {id, nodes, ranks, rank});
}

template <class Event>
tw_nccl_result_t profiler_start(void* context, void** handle, Event* event) {
  if (event == nullptr) return tw_nccl_internal_error;
  switch (event->type) {
    case tw_nccl_profile_coll:
      return profiler_start_collective(context, handle, translate_collective(event->coll));
    case tw_nccl_profile_proxy_op:
      return profiler_start_part(context, handle, translate_part(event->parentObj, event->proxyOp));
    default:
      return profiler_start_other(handle);
  }
}

// Nothing is known that was not known at the start.
inline tw_nccl_result_t profiler_stop(void*) { return tw_nccl_success; }
inline tw_nccl_result_t profiler_record(void*, tw_nccl_profiler_state_t, void*) {
  return tw_nccl_success;
}

// All but init, which the version's file sets.
template <class Table, class Event>
constexpr Table profiler_table() {
  Table table{};
  table.name = kProfilerName;
  table.startEvent = guarded<profiler_start<Event>>;
  table.stopEvent = guarded<profiler_stop>;
  table.recordEventState = guarded<profiler_record>;
  table.finalize = guarded<profiler_finalize>;
  return table;
}

}  // namespace thinwire::plugin::abi
