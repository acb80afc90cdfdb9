#include "perf/adapter.h"

namespace thinwire::perf {
namespace {

// NCCL gives every communicator an id; one run of a perf program has one.
constexpr std::uint64_t kCommunicatorId = 0x7077697265000001;

template <class Table, int kVersion>
class NetAdapter final : public Adapter<NetApi, Table, kVersion> {
 public:
  using Adapter<NetApi, Table, kVersion>::Adapter;

  NcclResult init(tw_nccl_logger_t logger) override {
    if constexpr (std::is_same_v<decltype(Table::init), tw_nccl_init_v6_fn>) {
      return this->table_->init(logger);
    } else if constexpr (std::is_same_v<decltype(Table::init), tw_nccl_net_init_v10_fn>) {
      return this->table_->init(logger, nullptr);
    } else {
      tw_nccl_net_comm_config_v12_t config{tw_nccl_undefined};
      return this->table_->init(&this->context_, kCommunicatorId, &config, logger, nullptr);
    }
  }

  NcclResult connect(int device, ListenHandle* handle, void** comm) override {
    [[maybe_unused]] tw_nccl_net_device_handle_t* offload = nullptr;
    using Connect = decltype(Table::connect);
    if constexpr (std::is_same_v<Connect, tw_nccl_connect_v6_fn>) {
      return this->table_->connect(device, handle->data(), comm);
    } else if constexpr (std::is_same_v<Connect, tw_nccl_connect_v7_fn>) {
      return this->table_->connect(device, handle->data(), comm, &offload);
    } else if constexpr (std::is_same_v<Connect, tw_nccl_connect_v10_fn>) {
      tw_nccl_net_comm_config_v10_t config{tw_nccl_undefined};
      return this->table_->connect(device, &config, handle->data(), comm, &offload);
    } else {
      return this->table_->connect(this->context_, device, handle->data(), comm, &offload);
    }
  }

  NcclResult accept(void* listen_comm, void** comm) override {
    if constexpr (std::is_same_v<decltype(Table::accept), tw_nccl_accept_v6_fn>) {
      return this->table_->accept(listen_comm, comm);
    } else {
      tw_nccl_net_device_handle_t* offload = nullptr;
      return this->table_->accept(listen_comm, comm, &offload);
    }
  }

  NcclResult isend(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                   void** request) override {
    using Send = decltype(Table::isend);
    if constexpr (std::is_same_v<Send, tw_nccl_isend_v6_fn>) {
      if (!fits_int(bytes)) return tw_nccl_invalid_argument;
      return this->table_->isend(comm, data, static_cast<int>(bytes), tag, memory, request);
    } else if constexpr (std::is_same_v<Send, tw_nccl_isend_v9_fn>) {
      return this->table_->isend(comm, data, bytes, tag, memory, request);
    } else {
      return this->table_->isend(comm, data, bytes, tag, memory, nullptr, request);
    }
  }

  NcclResult irecv(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                   void** request) override {
    using Recv = decltype(Table::irecv);
    if constexpr (std::is_same_v<Recv, tw_nccl_irecv_v6_fn>) {
      if (!fits_int(bytes)) return tw_nccl_invalid_argument;
      int size = static_cast<int>(bytes);
      return this->table_->irecv(comm, 1, &data, &size, &tag, &memory, request);
    } else if constexpr (std::is_same_v<Recv, tw_nccl_irecv_v9_fn>) {
      return this->table_->irecv(comm, 1, &data, &bytes, &tag, &memory, request);
    } else {
      void* profiler = nullptr;
      return this->table_->irecv(comm, 1, &data, &bytes, &tag, &memory, &profiler, request);
    }
  }

  NcclResult close_send(void* comm) override { return this->table_->closeSend(comm); }
  NcclResult close_recv(void* comm) override { return this->table_->closeRecv(comm); }
};

template <class Table, int kVersion>
std::unique_ptr<NetApi> adapt(void* table) {
  return std::make_unique<NetAdapter<Table, kVersion>>(static_cast<Table*>(table));
}

}  // namespace

std::unique_ptr<NetApi> make_net_api(int version, void* table) {
  switch (version) {
    case 6:
      return adapt<tw_nccl_net_v6_t, 6>(table);
    case 7:
      return adapt<tw_nccl_net_v7_t, 7>(table);
    case 8:
      return adapt<tw_nccl_net_v8_t, 8>(table);
    case 9:
      return adapt<tw_nccl_net_v9_t, 9>(table);
    case 10:
      return adapt<tw_nccl_net_v10_t, 10>(table);
    case 11:
      return adapt<tw_nccl_net_v11_t, 11>(table);
    case 12:
      return adapt<tw_nccl_net_v12_t, 12>(table);
    default:
      return nullptr;
  }
}

}  // namespace thinwire::perf
