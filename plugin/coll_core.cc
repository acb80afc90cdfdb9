// The coll_ functions of core.h: handles become objects, windows become Calls, Results NCCL's
// codes.
#include <algorithm>
#include <climits>
#include <cstring>

#include "plugin/collnet.h"
#include "plugin/core.h"
#include "plugin/engine_options.h"
#include "plugin/errors.h"
#include "plugin/handles.h"

namespace thinwire::plugin {

namespace {

constexpr std::size_t kMaxSliceBytes = std::size_t{1} << 40;  // as maxCollBytes

CollComm* comm_of(void* handle) { return object_cast<CollComm>(handle, ObjectKind::coll_comm); }

bool known(int type, int op, const char* call) {
  if (type >= 0 && type < kDataTypeCount && op >= 0 && op < kReduceOpCount) return true;
  THINWIRE_WARN(process().log(), "%s: data type %d, op %d; accepted are types 0 to %d, ops 0 to %d",
                call, type, op, kDataTypeCount - 1, kReduceOpCount - 1);
  return false;
}

std::size_t total_bytes(int nparts, const Part* parts) {
  std::size_t bytes = 0;
  for (int i = 0; i < nparts; ++i) bytes += parts[i].bytes;
  return bytes;
}

// A window is inside the vector, made of whole elements, and as long as its parts say.
bool valid_window(const CollComm& comm, int nparts, const Part* parts, std::size_t bytes_per_rank,
                  std::size_t offset, std::size_t bytes, std::size_t element, const char* call) {
  const std::size_t all = bytes_per_rank * static_cast<std::size_t>(comm.ranks());
  const bool good = bytes_per_rank <= kMaxSliceBytes && nparts >= 1 && parts != nullptr &&
                    total_bytes(nparts, parts) == bytes && offset <= all && bytes <= all - offset &&
                    bytes_per_rank % element == 0 && offset % element == 0 && bytes % element == 0;
  if (!good) {
    THINWIRE_WARN(process().log(),
                  "%s: window [%zu, +%zu) of %d parts does not fit %d slices of %zu bytes", call,
                  offset, bytes, nparts, comm.ranks(), bytes_per_rank);
  }
  return good;
}

tw_nccl_result_t started(const Result<CollRequest*>& result, std::atomic<std::uint64_t>& tally,
                         void** request) {
  if (result.ok()) tally.fetch_add(1, std::memory_order_relaxed);
  return give(result, request);
}

}  // namespace

tw_nccl_result_t coll_listen(void* ctx, int dev, void* handle, void** listen_comm) {
  Plugin* plugin = usable_plugin(dev, "CollNet listen");
  if (plugin == nullptr || handle == nullptr || listen_comm == nullptr) {
    return tw_nccl_internal_error;
  }
  auto listener = CollListener::create(*plugin, dev, process().comm_id(ctx));
  write_handle(listener->handle(), handle);
  *listen_comm = process().adopt(std::move(listener));
  return tw_nccl_success;
}

// NCCL closes the listener after a success, and drops it without a word after a failure.
tw_nccl_result_t coll_connect(void** handles, int nranks, int rank, void* listen_comm,
                              void** coll_comm) {
  auto* listener = static_cast<CollListener*>(process().find(listen_comm, ObjectKind::coll_listen));
  if (listener == nullptr || handles == nullptr || coll_comm == nullptr) {
    return not_ours("CollNet connect");
  }
  Status failure(Code::invalid_argument, "CollNet connect: rank out of range");
  const bool in_range = nranks >= 1 && rank >= 0 && rank < nranks;
  if (in_range && std::find(handles, handles + nranks, nullptr) == handles + nranks) {
    std::vector<transports::Handle> all(static_cast<std::size_t>(nranks));
    for (int i = 0; i < nranks; ++i) {
      auto& bytes = all[static_cast<std::size_t>(i)].bytes;
      std::memcpy(bytes.data(), handles[i], bytes.size());
    }
    auto comm = CollComm::connect(*process().plugin(), *listener, std::move(all), rank);
    if (comm.ok()) {
      if (wants_identity(process().plugin()->config())) {
        comm.value()->watch(process().profiler(), listener->comm_id());
      }
      *coll_comm = process().adopt(std::move(comm).value());
      return tw_nccl_success;
    }
    failure = comm.status();
  } else {
    THINWIRE_WARN(process().log(), "CollNet connect: rank %d of %d, or a null handle", rank,
                  nranks);
  }
  process().release(process().take(listen_comm, ObjectKind::coll_listen));
  return to_nccl(failure);
}

tw_nccl_result_t coll_reduce_support(int type, int op, int* supported) {
  if (supported == nullptr) return tw_nccl_internal_error;
  const bool yes = type >= 0 && type < kDataTypeCount && op >= 0 && op < kReduceOpCount;
  *supported = yes ? 1 : 0;
  return tw_nccl_success;
}

tw_nccl_result_t coll_reg_mr(void* handle, void* data, std::size_t bytes, int kind,
                             void** mhandle) {
  CollComm* comm = comm_of(handle);
  if (comm == nullptr || mhandle == nullptr) return not_ours("CollNet regMr");
  return give(comm->register_memory(data, bytes, kind), mhandle);
}

tw_nccl_result_t coll_reg_mr_dmabuf(void*, void*, std::size_t, int, std::uint64_t, int, void**) {
  return refuse_dmabuf();
}

tw_nccl_result_t coll_dereg_mr(void* handle, void* mhandle) {
  CollComm* comm = comm_of(handle);
  if (comm == nullptr) return not_ours("CollNet deregMr");
  return to_nccl(comm->deregister_memory(mhandle));
}

tw_nccl_result_t coll_iallreduce(void* handle, const void* send, void* recv, std::size_t count,
                                 int type, int op, void*, void*, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  CollComm* comm = comm_of(handle);
  if (comm == nullptr || (count > 0 && (send == nullptr || recv == nullptr))) {
    return not_ours("iallreduce");
  }
  if (!known(type, op, "iallreduce")) return tw_nccl_internal_error;
  collectives::Call call;
  call.input = send;
  call.output = recv;
  call.count = count;
  call.type = static_cast<DataType>(type);
  call.op = static_cast<ReduceOp>(op);
  return started(comm->all_reduce(call), process().tallies().all_reduces, request);
}

tw_nccl_result_t coll_iallgather(void* handle, const void* send, int nparts, const Part* parts,
                                 std::size_t bytes_per_rank, std::size_t window_offset,
                                 std::size_t window_bytes, void*, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  CollComm* comm = comm_of(handle);
  if (comm == nullptr) return not_ours("iallgather");
  if (!valid_window(*comm, nparts, parts, bytes_per_rank, window_offset, window_bytes, 1,
                    "iallgather")) {
    return tw_nccl_internal_error;
  }
  collectives::Call call;
  call.collective = collectives::Collective::all_gather;
  call.input = send;
  call.type = DataType::uint8;
  call.piece_counts = window_pieces(comm->ranks(), bytes_per_rank, window_offset, window_bytes, 1);
  const std::span<const Part> all(parts, static_cast<std::size_t>(nparts));
  return started(comm->all_gather(std::move(call), all), process().tallies().all_gathers, request);
}

tw_nccl_result_t coll_ireducescatter(void* handle, int nparts, const Part* parts, void* recv,
                                     std::size_t bytes_per_rank, std::size_t window_offset,
                                     std::size_t window_bytes, int type, int op, void*,
                                     void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  CollComm* comm = comm_of(handle);
  if (comm == nullptr) return not_ours("ireducescatter");
  if (!known(type, op, "ireducescatter")) return tw_nccl_internal_error;
  const std::size_t element = element_bytes(static_cast<DataType>(type));
  if (!valid_window(*comm, nparts, parts, bytes_per_rank, window_offset, window_bytes, element,
                    "ireducescatter")) {
    return tw_nccl_internal_error;
  }
  collectives::Call call;
  call.collective = collectives::Collective::reduce_scatter;
  call.output = recv;
  call.type = static_cast<DataType>(type);
  call.op = static_cast<ReduceOp>(op);
  call.piece_counts =
      window_pieces(comm->ranks(), bytes_per_rank, window_offset, window_bytes, element);
  const std::span<const Part> all(parts, static_cast<std::size_t>(nparts));
  return started(comm->reduce_scatter(std::move(call), all), process().tallies().reduce_scatters,
                 request);
}

// Host memory is visible as soon as it is received: nothing to flush, and a null request is done.
tw_nccl_result_t coll_iflush(void* handle, void*, std::size_t, void*, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  if (comm_of(handle) == nullptr) return not_ours("CollNet iflush");
  process().tallies().flushes.fetch_add(1, std::memory_order_relaxed);
  return tw_nccl_success;
}

tw_nccl_result_t coll_test(void* handle, int* done, int* size) {
  auto* request = static_cast<CollRequest*>(handle);
  if (request == nullptr || done == nullptr || request->comm == nullptr) {
    return not_ours("CollNet test");
  }
  std::size_t bytes = 0;
  auto tested = request->comm->test(request, &bytes);
  if (!tested.ok()) return to_nccl(tested.status());
  *done = tested.value() ? 1 : 0;
  if (tested.value() && size != nullptr) {
    *size = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
  }
  return tw_nccl_success;
}

tw_nccl_result_t coll_close(void* comm) {
  return close_object(comm, ObjectKind::coll_comm, "closeColl");
}

tw_nccl_result_t coll_close_listen(void* comm) {
  return close_object(comm, ObjectKind::coll_listen, "CollNet closeListen");
}

}  // namespace thinwire::plugin
