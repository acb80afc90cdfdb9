#include "transports/ucx/channel.h"

#include <algorithm>

namespace thinwire::transports::ucx {

namespace {
constexpr int kLastRounds = 10'000;
}

Channel::Channel(EndpointState& state, std::uint32_t number, Watching watching,
                 std::unique_ptr<Worker> own_worker)
    : state_(state),
      watching_(watching),
      shares_(own_worker == nullptr),
      number_(number),
      sender_(state.context, number_, state.finished),
      receiver_(state.context, own_worker ? *own_worker : *state.shared_worker, number_,
                state.finished),
      own_worker_(std::move(own_worker)) {
  state_.channels.emplace(number_, this);
}

Channel::~Channel() {
  state_.channels.erase(number_);
  abort();
  // UCX must not lose a worker under requests that it still tracks.
  for (int round = 0; round < kLastRounds && !shares_ && holds_buffers(); ++round) {
    worker()->progress();
  }
}

Result<std::unique_ptr<Channel>> Channel::create(EndpointState& state, std::uint32_t number,
                                                 Watching watching, std::uint64_t peer_endpoint) {
  const bool share = watching == Watching::by_ucx && peer_endpoint != state.number &&
                     state.peers_of_shared_worker.insert(peer_endpoint).second;
  std::unique_ptr<Worker> own;
  if (!share || !state.shared_worker) {
    auto made = Worker::create(state.context, state.events, state, state.workers);
    if (!made.ok()) return made.status();
    own = std::move(made).value();
    if (share) state.shared_worker = std::move(own);
  }
  return std::unique_ptr<Channel>(new Channel(state, number, watching, std::move(own)));
}

Status Channel::connect(std::span<const std::byte> peer_address, std::uint32_t peer_number,
                        std::uint64_t peer_window_bytes) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_FLAGS;
  params.address = reinterpret_cast<const ucp_address_t*>(peer_address.data());
  params.err_mode =
      watching_ == Watching::by_ucx ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler = {&Channel::peer_failed, this};
  params.flags = UCP_EP_PARAMS_FLAGS_NO_LOOPBACK;
  const ucs_status_t status =
      state_.context.api().ep_create(worker()->native(), &params, &endpoint_);
  if (status != UCS_OK) {
    endpoint_ = nullptr;
    return {Code::peer_lost, "UCX finds no way to the peer (UCX_TLS, UCX_NET_DEVICES?)", status};
  }
  sender_.wire(endpoint_, peer_number, peer_window_bytes);
  return {};
}

void Channel::peer_failed(void* channel, ucp_ep_h, ucs_status_t status) {
  auto& ours = *static_cast<Channel*>(channel);
  if (ours.ucx_failure_.ok()) {
    ours.ucx_failure_ = {Code::peer_lost, "UCX lost the connection to the peer", status};
  }
}

Status Channel::failure() const {
  if (receiver_.failure().failed()) return receiver_.failure();
  return ucx_failure_.failed() ? ucx_failure_ : sender_.failure();
}

Status Channel::post_send(const void* data, std::size_t bytes, std::uint64_t tag,
                          ucs_memory_type_t memory, std::uint64_t cookie) {
  granted_ = receiver_.taken();
  return sender_.post(data, bytes, tag, memory, cookie, granted_);
}

bool Channel::message_arrived(const ActiveMessage& message) {
  sender_.take_grant(message.header.granted);
  switch (message.header.kind) {
    case MessageKind::data:
      return receiver_.arrive(message);
    case MessageKind::look:
      state_.look_at_control();
      break;
    case MessageKind::grant:
      break;
    case MessageKind::greeting:
    case MessageKind::reply:
    case MessageKind::confirmed:
      heard_ = message.header.kind;
      break;
  }
  return false;
}

bool Channel::greet(bool connecting) {
  if (!is_connected()) return false;
  if (!greeted_ && (connecting || heard_ == MessageKind::greeting)) {
    greeted_ = true;
    sender_.tell(connecting ? MessageKind::greeting : MessageKind::reply, 0);
  }
  if (!connecting) return heard_ == MessageKind::confirmed;
  if (heard_ != MessageKind::reply) return false;
  if (!confirmed_) sender_.tell(MessageKind::confirmed, 0);
  confirmed_ = true;
  // Not before it is out: nobody may poll here again for long.
  return sender_.in_flight() == 0;
}

void Channel::grant_if_due() {
  const std::uint64_t taken = receiver_.taken();
  if (taken - granted_ < kWindowBytes / 4) return;
  granted_ = taken;
  sender_.tell(MessageKind::grant, taken);
}

void Channel::fail_posts(const Status& status) {
  sender_.fail(status);
  receiver_.fail(status);
}

void Channel::begin_closing(std::uint32_t flags) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = flags;
  closing_ = state_.context.api().ep_close_nbx(endpoint_, &parameters);
  if (!UCS_PTR_IS_PTR(closing_)) {
    closing_ = nullptr;
    endpoint_ = nullptr;
  }
}

// What reads of another process's memory were begun: UCX 1.13 ends the process when a worker is
// destroyed under them. They need nobody but this side; what does need the peer makes no progress
// here, and stays. The kernel does them, which notices that a buffer is gone. UCX itself does not,
// and would write what else arrives: so nothing of this where there are no such reads.
void Channel::finish_reads() {
  if (!has_remote_reads(state_.context.resources())) return;
  constexpr int kIdleRounds = 4;
  int idle = 0;
  for (int round = 0; round < kLastRounds && idle < kIdleRounds; ++round) {
    const std::size_t before = receiver_.in_flight();
    if (before == 0) return;
    const bool moved = own_worker_->progress();
    idle = moved || receiver_.in_flight() < before ? 0 : idle + 1;
  }
}

void Channel::abort() {
  if (worker() == nullptr) return;
  receiver_.stop();
  receiver_.refuse_waiting();
  if (watching_ == Watching::by_control) {
    finish_reads();
    abandon();
    own_worker_.reset();
  } else if (endpoint_ != nullptr && closing_ == nullptr) {
    begin_closing(UCP_EP_CLOSE_FLAG_FORCE);
  }
}

void Channel::abandon() {
  if (closing_ != nullptr) state_.context.api().request_free(closing_);
  closing_ = nullptr;
  endpoint_ = nullptr;
}

void Channel::close() {
  if (endpoint_ == nullptr || closing_ != nullptr) return;
  receiver_.refuse_waiting();
  begin_closing(0);
}

bool Channel::progress() {
  if (worker() == nullptr) return true;
  if (closing_ != nullptr) {
    if (state_.context.api().request_check_status(closing_) == UCS_INPROGRESS) return false;
    state_.context.api().request_free(closing_);
    closing_ = nullptr;
    endpoint_ = nullptr;
  }
  return endpoint_ == nullptr && !holds_buffers();
}

}  // namespace thinwire::transports::ucx
