// What the adapters of both tables share, for any version's table: each member is called by the
// signature that the table itself declares. Included by the adapters only.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/nccl_abi/net_v12.h"
#include "perf/plugin_api.h"

namespace thinwire::perf {

// The properties struct that Table's getProperties fills.
template <class Function>
struct PropertiesOf;
template <class Properties>
struct PropertiesOf<tw_nccl_result_t (*)(int, Properties*)> {
  using type = Properties;
};

inline bool fits_int(std::size_t bytes) {
  return bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}

// Base is NetApi or CollNetApi.
template <class Base, class Table, int kVersion>
class Adapter : public Base {
 public:
  explicit Adapter(Table* table) : table_(table) {}

  int version() const override { return kVersion; }
  const char* name() const override { return table_->name; }
  NcclResult devices(int* count) override { return table_->devices(count); }

  NcclResult properties(int device, DeviceProperties* properties) override {
    typename PropertiesOf<decltype(Table::getProperties)>::type raw{};
    const NcclResult result = table_->getProperties(device, &raw);
    if (result != tw_nccl_success) return result;
    properties->name = raw.name != nullptr ? raw.name : "";
    properties->pci_path = raw.pciPath != nullptr ? raw.pciPath : "";
    properties->speed_mbps = raw.speed;
    properties->max_recvs = raw.maxRecvs;
    properties->host_memory = (raw.ptrSupport & tw_nccl_ptr_host) != 0;
    if constexpr (requires { raw.maxP2pBytes; }) {
      properties->max_p2p_bytes = raw.maxP2pBytes;
      properties->max_collective_bytes = raw.maxCollBytes;
    }
    return result;
  }

  NcclResult merge(const std::vector<int>& devices, int* merged) override {
    if constexpr (requires { table_->makeVDevice; }) {
      decltype(PropertiesOf<decltype(Table::getProperties)>::type::vProps) members{};
      if (table_->makeVDevice == nullptr || devices.size() > std::size(members.devs)) {
        return tw_nccl_invalid_usage;
      }
      members.ndevs = static_cast<int>(devices.size());
      std::copy(devices.begin(), devices.end(), members.devs);
      return table_->makeVDevice(merged, &members);
    } else {
      return tw_nccl_invalid_usage;
    }
  }

  NcclResult listen(int device, ListenHandle* handle, void** comm) override {
    if constexpr (std::is_same_v<decltype(Table::listen), tw_nccl_listen_v11_fn>) {
      return table_->listen(context_, device, handle->data(), comm);
    } else {
      return table_->listen(device, handle->data(), comm);
    }
  }
  NcclResult close_listen(void* comm) override { return table_->closeListen(comm); }

  NcclResult register_memory(void* comm, void* data, std::size_t bytes, void** memory) override {
    if constexpr (std::is_same_v<decltype(Table::regMr), tw_nccl_reg_mr_v8_fn>) {
      return table_->regMr(comm, data, bytes, tw_nccl_ptr_host, memory);
    } else {
      if (!fits_int(bytes)) return tw_nccl_invalid_argument;
      return table_->regMr(comm, data, static_cast<int>(bytes), tw_nccl_ptr_host, memory);
    }
  }
  NcclResult deregister_memory(void* comm, void* memory) override {
    return table_->deregMr(comm, memory);
  }

  NcclResult test(void* request, int* done, int* bytes) override {
    return table_->test(request, done, bytes);
  }

  NcclResult finalize() override {
    if constexpr (requires(Table * table) { table->finalize; }) {
      if (table_->finalize != nullptr) return table_->finalize(context_);
    }
    return tw_nccl_success;
  }

 protected:
  Table* table_;
  void* context_ = nullptr;
};

}  // namespace thinwire::perf
