#include "transports/ucx/sender.h"

#include <algorithm>
#include <vector>

namespace thinwire::transports::ucx {

namespace {
// Bounds what a peer keeps of messages that it was told of and has no buffer for.
constexpr std::size_t kMaxOutstanding = 1024;
}  // namespace

void Sender::wire(ucp_ep_h endpoint, std::uint32_t peer_connection, std::uint64_t window_bytes) {
  endpoint_ = endpoint;
  peer_connection_ = peer_connection;
  window_bytes_ = window_bytes;
}

Status Sender::post(const void* data, std::size_t bytes, std::uint64_t tag,
                    ucs_memory_type_t memory, std::uint64_t cookie, std::uint64_t granted) {
  if (endpoint_ == nullptr || sends_.in_use() >= kMaxOutstanding) return Status::would_block();
  const bool fits = charged_ - granted_ + cost_of(bytes) <= window_bytes_;
  const bool charged = bytes <= kMaxEagerBytes && fits;
  if (!charged && bytes == 0) return Status::would_block();
  if (charged) charged_ += cost_of(bytes);
  Send* send = sends_.take();
  send->is_post = true;
  send->cookie = cookie;
  send->bytes = bytes;
  send->order = sequence_;
  send->header = {.connection = peer_connection_,
                  .kind = MessageKind::data,
                  .charged = static_cast<std::uint16_t>(charged ? 1 : 0),
                  .sequence = sequence_++,
                  .tag = tag,
                  .granted = granted};
  payload_bytes_ += bytes;
  start(send, data, memory, charged ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV);
  return {};
}

void Sender::tell(MessageKind kind, std::uint64_t granted) {
  if (endpoint_ == nullptr) return;
  Send* send = sends_.take();
  send->is_post = false;
  send->bytes = 0;
  send->header = {.connection = peer_connection_, .kind = kind, .granted = granted};
  start(send, nullptr, UCS_MEMORY_TYPE_HOST, UCP_AM_SEND_FLAG_EAGER);
}

void Sender::start(Send* send, const void* data, ucs_memory_type_t memory, unsigned flags) {
  send->sender = this;
  sent_bytes_ += send->bytes + sizeof(MessageHeader);
  ucp_request_param_t parameters =
      request_parameters(send->request.of_bytes(context_.request_bytes()), memory, send);
  parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = flags;
  parameters.cb.send = &Sender::ended;
  ++in_flight_;
  if (send->is_post) ++posts_in_flight_;
  const ucs_status_ptr_t started =
      context_.api().am_send_nbx(endpoint_, kActiveMessageId, &send->header, sizeof send->header,
                                 data, send->bytes, &parameters);
  if (!UCS_PTR_IS_PTR(started)) finish(send, UCS_PTR_STATUS(started));
}

void Sender::ended(void*, ucs_status_t status, void* send) {
  auto* ours = static_cast<Send*>(send);
  ours->sender->finish(ours, status);
}

void Sender::finish(Send* send, ucs_status_t status) {
  --in_flight_;
  if (send->is_post) --posts_in_flight_;
  if (status != UCS_OK) {
    if (failure_.ok()) failure_ = {Code::peer_lost, "UCX failed to send to the peer", status};
    if (send->is_post) return;  // fail() completes it
  } else if (send->is_post) {
    Completion completion;
    completion.cookie = send->cookie;
    completion.count = 1;
    completion.bytes[0] = send->bytes;
    finished_.push(connection_, completion);
  }
  sends_.give_back(send);
}

void Sender::fail(const Status& status) {
  endpoint_ = nullptr;
  std::vector<Send*> left;
  sends_.for_each_live([&](Send& send) {
    if (send.is_post) left.push_back(&send);
  });
  std::ranges::sort(left, {}, &Send::order);
  for (Send* send : left) {
    finished_.push(connection_, {send->cookie, status, 0, {}});
    // Its memory stays as it is: UCX may have abandoned it without a word.
    send->is_post = false;
  }
  posts_in_flight_ = 0;
}

}  // namespace thinwire::transports::ucx
