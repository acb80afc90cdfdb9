// The net_ functions of core.h: handles become objects, Results become NCCL's codes.
#include "plugin/core.h"
#include "plugin/errors.h"
#include "plugin/handles.h"
#include "plugin/net.h"
#include "plugin/pending_connects.h"
#include "plugin/process.h"

namespace thinwire::plugin {

namespace {

NetComm* comm_of(void* handle, ObjectKind kind) { return object_cast<NetComm>(handle, kind); }

NetComm* any_comm_of(void* handle) {
  NetComm* comm = comm_of(handle, ObjectKind::net_send);
  return comm != nullptr ? comm : comm_of(handle, ObjectKind::net_receive);
}

// Null in *out: not connected yet, NCCL calls again.
tw_nccl_result_t hand_out(Result<std::unique_ptr<NetComm>> comm, void** out) {
  const Status status = comm.status();
  if (comm.ok()) {
    *out = process().adopt(std::move(comm).value());
  } else if (status.is_would_block()) {
    *out = nullptr;
  }
  return to_nccl(status);
}

}  // namespace

tw_nccl_result_t net_listen(void*, int dev, void* handle, void** listen_comm) {
  Plugin* plugin = usable_plugin(dev, "listen");
  if (plugin == nullptr || handle == nullptr || listen_comm == nullptr) {
    return tw_nccl_internal_error;
  }
  auto listener = NetListener::create(*plugin, dev);
  write_handle(listener->handle(), handle);
  *listen_comm = process().adopt(std::move(listener));
  return tw_nccl_success;
}

tw_nccl_result_t net_connect(void*, int dev, void* handle, void** send_comm) {
  Plugin* plugin = usable_plugin(dev, "connect");
  if (plugin == nullptr || handle == nullptr || send_comm == nullptr) {
    return tw_nccl_internal_error;
  }
  return hand_out(plugin->pending_connects().advance(*plugin, dev, handle), send_comm);
}

tw_nccl_result_t net_accept(void* listen_comm, void** recv_comm) {
  Object* object = process().find(listen_comm, ObjectKind::net_listen);
  if (object == nullptr || recv_comm == nullptr) return not_ours("accept");
  return hand_out(static_cast<NetListener*>(object)->try_accept(), recv_comm);
}

tw_nccl_result_t net_reg_mr(void* handle, void* data, std::size_t bytes, int kind, void** mhandle) {
  NetComm* comm = any_comm_of(handle);
  if (comm == nullptr || mhandle == nullptr) return not_ours("regMr");
  return give(comm->register_memory(data, bytes, kind), mhandle);
}

tw_nccl_result_t net_reg_mr_dmabuf(void* handle, void* data, std::size_t bytes, int,
                                   std::uint64_t offset, int fd, void** mhandle) {
  NetComm* comm = any_comm_of(handle);
  if (comm == nullptr || mhandle == nullptr) return not_ours("regMrDmaBuf");
  return give(comm->register_dmabuf(data, bytes, offset, fd), mhandle);
}

tw_nccl_result_t net_dereg_mr(void* handle, void* mhandle) {
  NetComm* comm = any_comm_of(handle);
  if (comm == nullptr) return not_ours("deregMr");
  return to_nccl(comm->deregister_memory(mhandle));
}

tw_nccl_result_t net_isend(void* handle, const void* data, std::size_t bytes, int tag,
                           void* mhandle, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  NetComm* comm = comm_of(handle, ObjectKind::net_send);
  if (comm == nullptr || (data == nullptr && bytes > 0)) return not_ours("isend");
  auto sent = comm->send(data, bytes, tag, mhandle);
  if (sent.ok()) process().tallies().sends.fetch_add(1, std::memory_order_relaxed);
  return give(sent, request);
}

tw_nccl_result_t net_irecv(void* handle, int n, void* const* data, const std::size_t* bytes,
                           const int* tags, void* const* mhandles, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  NetComm* comm = comm_of(handle, ObjectKind::net_receive);
  if (comm == nullptr || data == nullptr || bytes == nullptr) return not_ours("irecv");
  if (n < 1 || n > transports::kMaxGroupedReceives) {
    THINWIRE_WARN(process().log(), "irecv: %d buffers, accepted are 1 to %d", n,
                  transports::kMaxGroupedReceives);
    return tw_nccl_internal_error;
  }
  std::array<transports::ReceiveBuffer, transports::kMaxGroupedReceives> buffers;
  for (int i = 0; i < n; ++i) {
    const auto tag = tags == nullptr ? 0 : static_cast<std::uint32_t>(tags[i]);
    buffers[static_cast<std::size_t>(i)] = {data[i], bytes[i], tag,
                                            key_of(mhandles == nullptr ? nullptr : mhandles[i])};
  }
  auto posted = comm->receive(std::span(buffers).first(static_cast<std::size_t>(n)));
  if (posted.ok()) process().tallies().receives.fetch_add(1, std::memory_order_relaxed);
  return give(posted, request);
}

// One flush serves them all: it comes after everything that the device wrote.
tw_nccl_result_t net_iflush(void* handle, int n, void* const* data, const int* sizes,
                            void* const* mhandles, void** request) {
  if (request == nullptr) return tw_nccl_internal_error;
  *request = nullptr;
  NetComm* comm = comm_of(handle, ObjectKind::net_receive);
  if (comm == nullptr) return not_ours("iflush");
  process().tallies().flushes.fetch_add(1, std::memory_order_relaxed);
  if (data == nullptr || sizes == nullptr || mhandles == nullptr) return tw_nccl_success;
  for (int i = n - 1; i >= 0; --i) {
    if (sizes[i] > 0) return give(comm->flush(data[i], mhandles[i]), request);
  }
  return tw_nccl_success;
}

tw_nccl_result_t net_test(void* handle, int* done, int* sizes) {
  auto* request = static_cast<NetRequest*>(handle);
  if (request == nullptr || done == nullptr || request->comm == nullptr) return not_ours("test");
  auto tested = request->comm->test(request, sizes);
  if (tested.ok()) *done = tested.value() ? 1 : 0;
  return to_nccl(tested.status());
}

tw_nccl_result_t net_close_send(void* comm) {
  return close_object(comm, ObjectKind::net_send, "closeSend");
}

tw_nccl_result_t net_close_recv(void* comm) {
  return close_object(comm, ObjectKind::net_receive, "closeRecv");
}

tw_nccl_result_t net_close_listen(void* comm) {
  return close_object(comm, ObjectKind::net_listen, "closeListen");
}

// Hints only; TCP has no use for them.
tw_nccl_result_t net_set_attributes(void*, const Attributes&) { return tw_nccl_success; }

}  // namespace thinwire::plugin
