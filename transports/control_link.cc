#include "transports/control_link.h"

#include <cstring>
#include <utility>

namespace thinwire::transports {

namespace {

constexpr std::uint64_t kTag = 1;
constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 20;

struct Head {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t reserved = 0;
  std::uint64_t blob_bytes = 0;
};
static_assert(sizeof(Head) == 16);

}  // namespace

std::uint64_t ControlLinks::enter(ControlLink* link) {
  links_.emplace(next_, link);
  return next_++;
}

void ControlLinks::poll() {
  std::array<Completion, 16> completions;
  std::size_t count;
  do {
    count = control_.poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t cookie = completions[i].cookie;
      const auto link = links_.find(cookie >> ControlLink::kCookieBits);
      if (link == links_.end()) continue;
      link->second->completed(cookie & ((1u << ControlLink::kCookieBits) - 1), completions[i]);
    }
  } while (count == completions.size());
  std::erase_if(departing_, [](const std::unique_ptr<ControlLink>& link) {
    link->progress();
    return link->is_quiet() || link->state().failed();
  });
}

void ControlLinks::let_go(std::unique_ptr<ControlLink> link) {
  if (!link->is_quiet()) departing_.push_back(std::move(link));
}

ControlLink::ControlLink(ControlLinks& links, std::unique_ptr<Connection> connection)
    : links_(links), number_(links.enter(this)), connection_(std::move(connection)) {}

ControlLink::~ControlLink() { links_.leave(number_); }

void ControlLink::send(ControlFrame frame) {
  Outgoing& outgoing = outgoing_.emplace_back();
  const Head head{links_.format().magic, links_.format().version, 0, frame.blob.size()};
  std::memcpy(outgoing.prelude.data(), &head, sizeof head);
  std::memcpy(outgoing.prelude.data() + sizeof head, frame.fields.data(), frame.fields.size());
  outgoing.blob = std::move(frame.blob);
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
  Head head;
  std::memcpy(&head, prelude_.data(), sizeof head);
  const ControlFormat& format = links_.format();
  if (head.magic != format.magic) {
    failure_ = {Code::peer_lost, format.foreign};
  } else if (head.version != format.version) {
    failure_ = {Code::peer_lost, format.other_version, head.version};
  } else if (head.blob_bytes > kMaxBlobBytes) {
    failure_ = {Code::peer_lost, "the peer's control message is too long"};
  }
  if (failure_.failed()) return;
  incoming_ = {};
  std::memcpy(incoming_.fields.data(), prelude_.data() + sizeof head, incoming_.fields.size());
  wants_blob_ = head.blob_bytes > 0;
  incoming_.blob.resize(static_cast<std::size_t>(head.blob_bytes));
  if (!wants_blob_) arrived_.push_back(std::move(incoming_));
}

ControlFrame ControlLink::take_frame() {
  ControlFrame frame = std::move(arrived_.front());
  arrived_.pop_front();
  return frame;
}

}  // namespace thinwire::transports
