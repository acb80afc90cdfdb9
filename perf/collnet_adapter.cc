#include <vector>

#include "perf/adapter.h"

namespace thinwire::perf {
namespace {

constexpr std::uint64_t kCommunicatorId = 0x7077697265000002;

// The scatter-gather element of a table: its size is 32 bits wide in version 8.
template <class Function>
struct PartOf;
template <class Part>
struct PartOf<tw_nccl_result_t (*)(void*, void*, int, Part*, std::size_t, std::size_t, std::size_t,
                                   void*, void**)> {
  using type = Part;
};

template <class Table, int kVersion>
class CollNetAdapter final : public Adapter<CollNetApi, Table, kVersion> {
 public:
  using Adapter<CollNetApi, Table, kVersion>::Adapter;

  NcclResult init(tw_nccl_logger_t logger) override {
    if constexpr (std::is_same_v<decltype(Table::init), tw_nccl_init_v6_fn>) {
      return this->table_->init(logger);
    } else {
      return this->table_->init(&this->context_, kCommunicatorId, logger);
    }
  }

  NcclResult connect(ListenHandle* handles, int ranks, int rank, void* listen_comm,
                     void** comm) override {
    std::vector<void*> pointers;
    for (int i = 0; i < ranks; ++i) pointers.push_back(handles[i].data());
    return this->table_->connect(pointers.data(), ranks, rank, listen_comm, comm);
  }

  NcclResult reduce_support(int type, int op, int* supported) override {
    return this->table_->reduceSupport(type, op, supported);
  }

  bool has_windows() const override {
    if constexpr (requires(Table * table) { table->iallgather; }) {
      return this->table_->iallgather != nullptr && this->table_->ireducescatter != nullptr;
    } else {
      return false;
    }
  }

  NcclResult iallreduce(void* comm, CollBuffer send, CollBuffer recv, std::size_t count, int type,
                        int op, void** request) override {
    if constexpr (std::is_same_v<decltype(Table::iallreduce), tw_nccl_iallreduce_v9_fn>) {
      return this->table_->iallreduce(comm, send.data, recv.data, count, type, op, send.memory,
                                      recv.memory, request);
    } else {
      if (!fits_int(count)) return tw_nccl_invalid_argument;
      return this->table_->iallreduce(comm, send.data, recv.data, static_cast<int>(count), type, op,
                                      send.memory, recv.memory, request);
    }
  }

  NcclResult iallgather(void* comm, CollBuffer send, CollBuffer recv, Window window,
                        void** request) override {
    if constexpr (requires(Table * table) { table->iallgather; }) {
      auto part = part_of(recv, window);
      return this->table_->iallgather(comm, send.data, 1, &part, window.bytes_per_rank,
                                      window.offset, window.bytes, send.memory, request);
    } else {
      return tw_nccl_invalid_usage;
    }
  }

  NcclResult ireducescatter(void* comm, CollBuffer send, CollBuffer recv, Window window, int type,
                            int op, void** request) override {
    if constexpr (requires(Table * table) { table->ireducescatter; }) {
      auto part = part_of(send, window);
      return this->table_->ireducescatter(comm, 1, &part, recv.data, window.bytes_per_rank,
                                          window.offset, window.bytes, type, op, recv.memory,
                                          request);
    } else {
      return tw_nccl_invalid_usage;
    }
  }

  NcclResult close_collective(void* comm) override { return this->table_->closeColl(comm); }

 private:
  static auto part_of(CollBuffer buffer, const Window& window) {
    using Part = typename PartOf<decltype(Table::iallgather)>::type;
    return Part{buffer.memory, buffer.data, static_cast<decltype(Part::size)>(window.bytes)};
  }
};

template <class Table, int kVersion>
std::unique_ptr<CollNetApi> adapt(void* table) {
  return std::make_unique<CollNetAdapter<Table, kVersion>>(static_cast<Table*>(table));
}

}  // namespace

std::unique_ptr<CollNetApi> make_collnet_api(int version, void* table) {
  switch (version) {
    case 6:
      return adapt<tw_nccl_collnet_v6_t, 6>(table);
    case 7:
      return adapt<tw_nccl_collnet_v7_t, 7>(table);
    case 8:
      return adapt<tw_nccl_collnet_v8_t, 8>(table);
    case 9:
      return adapt<tw_nccl_collnet_v9_t, 9>(table);
    case 10:
      return adapt<tw_nccl_collnet_v10_t, 10>(table);
    case 11:
      return adapt<tw_nccl_collnet_v11_t, 11>(table);
    case 12:
      return adapt<tw_nccl_collnet_v12_t, 12>(table);
    default:
      return nullptr;
  }
}

}  // namespace thinwire::perf
