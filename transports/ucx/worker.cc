#include "transports/ucx/worker.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::ucx {

Worker::Worker(const Context& context, EventSet& events, MessageSink& sink,
               std::vector<Worker*>& list, ucp_worker_h worker)
    : context_(context), events_(events), sink_(sink), list_(list), worker_(worker) {
  list_.push_back(this);
}

Worker::~Worker() {
  std::erase(list_, this);
  if (event_fd_ >= 0) events_.remove(event_fd_);
  context_.api().worker_destroy(worker_);
}

Result<std::unique_ptr<Worker>> Worker::create(const Context& context, EventSet& events,
                                               MessageSink& sink, std::vector<Worker*>& list) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // Different threads may use it, one after the other.
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h native = nullptr;
  const ucs_status_t status = context.api().worker_create(context.native(), &params, &native);
  if (status != UCS_OK) return Status(Code::system_error, "UCX makes no worker", status);
  std::unique_ptr<Worker> worker(new Worker(context, events, sink, list, native));
  if (const Status ready = worker->set_up(); !ready.ok()) return ready;
  return worker;
}

Status Worker::set_up() {
  const Api& api = context_.api();
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kActiveMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  if (context_.handles_cuda()) handler.flags |= UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = &Worker::arrived;
  handler.arg = this;
  ucs_status_t status = api.worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return {Code::system_error, "UCX takes no message handler", status};
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = api.worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return {Code::system_error, "UCX's worker has no address", status};
  const auto* first = reinterpret_cast<const std::byte*>(address);
  address_.assign(first, first + bytes);
  api.worker_release_address(worker_, address);
  int fd = -1;
  status = api.worker_get_efd(worker_, &fd);
  if (status != UCS_OK) return {Code::system_error, "UCX's worker has no event descriptor", status};
  if (!events_.add(fd)) return {Code::system_error, "UCX's event descriptor cannot be watched"};
  event_fd_ = fd;
  return {};
}

ucs_status_t Worker::arrived(void* worker, const void* header, std::size_t header_bytes, void* data,
                             std::size_t bytes, const ucp_am_recv_param_t* param) {
  auto& ours = *static_cast<Worker*>(worker);
  ActiveMessage message;
  const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (header_bytes != sizeof message.header) return rendezvous ? UCS_ERR_REJECTED : UCS_OK;
  const bool persists = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  message.descriptor = rendezvous || (persists && bytes > 0 && ours.context_.handles_cuda());
  std::memcpy(&message.header, header, sizeof message.header);
  message.data = data;
  message.bytes = bytes;
  const bool taken = ours.sink_.message_arrived(message);
  if (taken && message.descriptor) return UCS_INPROGRESS;
  return rendezvous && !taken ? UCS_ERR_CANCELED : UCS_OK;
}

}  // namespace thinwire::transports::ucx
