#include "transports/ucx/control_link.h"

#include <utility>

namespace thinwire::transports::ucx {

namespace {
constexpr std::uint64_t kTag = 1;
}

ControlLink::ControlLink(EndpointState& state, std::unique_ptr<Connection> connection)
    : state_(state), number_(state.next_link++), connection_(std::move(connection)) {
  state_.links.emplace(number_, this);
}

ControlLink::~ControlLink() { state_.links.erase(number_); }

void ControlLink::send(ControlMessage message) {
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.prelude = encode_prelude(message);
  outgoing.blob = std::move(message.blob);
  post_sends();
}

void ControlLink::post_sends() {
  for (Outgoing& outgoing : outgoing_) {
    while (outgoing.posted < outgoing.parts()) {
      const std::span<const std::byte> part =
          outgoing.posted == 0 ? std::span<const std::byte>(outgoing.prelude) : outgoing.blob;
      const Status posted =
          connection_->post_send(part.data(), part.size(), kTag, {}, cookie(kSent));
      if (!posted.ok()) return;
      ++outgoing.posted;
    }
  }
}

void ControlLink::post_receive() {
  ReceiveBuffer buffer{prelude_.data(), prelude_.size(), kTag, {}};
  if (wants_blob_) buffer = {incoming_.blob.data(), incoming_.blob.size(), kTag, {}};
  receiving_ = connection_->post_receive({&buffer, 1}, cookie(wants_blob_ ? kBlob : kPrelude)).ok();
}

void ControlLink::progress() {
  if (!state().ok()) return;
  post_sends();
  if (!receiving_) post_receive();
}

void ControlLink::completed(std::uint64_t which, const Completion& completion) {
  if (completion.status.failed()) return;  // state() says it too
  if (which == kSent) {
    // Completions of one tag come in the order of the posts.
    if (++outgoing_.front().finished == outgoing_.front().parts()) outgoing_.pop_front();
    return;
  }
  receiving_ = false;
  if (which == kPrelude) {
    prelude_arrived();
  } else if (completion.bytes[0] == incoming_.blob.size()) {
    wants_blob_ = false;
    arrived_.push_back(std::move(incoming_));
  } else {
    failure_ = {Code::peer_lost, "the peer's control message is cut short"};
  }
  if (!failure_.failed()) post_receive();
}

void ControlLink::prelude_arrived() {
  Result<Prelude> prelude = decode_prelude(prelude_);
  if (!prelude.ok()) {
    failure_ = prelude.status();
    return;
  }
  incoming_ = std::move(prelude.value().message);
  wants_blob_ = prelude.value().blob_bytes > 0;
  incoming_.blob.resize(prelude.value().blob_bytes);
  if (!wants_blob_) arrived_.push_back(std::move(incoming_));
}

ControlMessage ControlLink::take_message() {
  ControlMessage message = std::move(arrived_.front());
  arrived_.pop_front();
  return message;
}

}  // namespace thinwire::transports::ucx
