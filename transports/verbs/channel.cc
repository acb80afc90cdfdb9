#include "transports/verbs/channel.h"

#include <arpa/inet.h>
#include <errno.h>

#include <algorithm>
#include <cstring>

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

constexpr QueueDepths kMessageDepths{kSlots, kSlots};
constexpr QueueDepths kDataDepths{128, kMaxWritten};
constexpr std::size_t kMaxWriteBytes = std::size_t{1} << 30;

int entries_for(std::size_t paths) {
  const std::size_t data = paths - 1;
  return static_cast<int>(kMessageDepths.send + kMessageDepths.receive +
                          data * (kDataDepths.send + kDataDepths.receive));
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(const Context& context,
                                                 Registrations& registrations, Finished& finished,
                                                 std::uint32_t number, std::size_t paths) {
  auto incoming = SlotMemory::create(context);
  if (!incoming.ok()) return incoming.status();
  auto outgoing = SlotMemory::create(context);
  if (!outgoing.ok()) return outgoing.status();
  std::unique_ptr<Channel> channel(new Channel(context, registrations, finished, number,
                                               std::move(incoming).value(),
                                               std::move(outgoing).value(), paths));
  const Status opened = channel->open(paths);
  if (!opened.ok()) return opened;
  return channel;
}

Channel::Channel(const Context& context, Registrations& registrations, Finished& finished,
                 std::uint32_t number, std::unique_ptr<SlotMemory> incoming,
                 std::unique_ptr<SlotMemory> outgoing, std::size_t paths)
    : context_(context),
      incoming_(std::move(incoming)),
      outgoing_(std::move(outgoing)),
      paths_(paths),
      mending_(paths),
      sender_(registrations, *outgoing_, paths_, number, finished,
              std::min<std::size_t>(context.port().max_msg_sz, kMaxWriteBytes)),
      receiver_(registrations, sender_, number, finished) {}

Channel::~Channel() {
  for (auto& path : paths_) path.reset();
  if (cq_ != nullptr) context_.api().destroy_cq(cq_);
}

Status Channel::open(std::size_t paths) {
  const int entries = entries_for(paths);
  if (entries > context_.limits().max_cqe) {
    return {Code::system_error, "the device's completion queues are too small", entries};
  }
  cq_ = context_.api().create_cq(context_.native(), entries, this, context_.channel());
  if (cq_ == nullptr) return {Code::system_error, "no completion queue", errno};
  for (std::size_t i = 0; i < paths; ++i) {
    const bool messages = i == 0;
    paths_[i] = std::make_unique<Path>(context_, cq_, static_cast<std::uint16_t>(i),
                                       messages ? kMessageDepths : kDataDepths,
                                       messages ? incoming_.get() : nullptr);
    if (const Status status = paths_[i]->open(); !status.ok()) return status;
  }
  return {};
}

std::vector<PathAddress> Channel::addresses() const {
  std::vector<PathAddress> addresses;
  for (const auto& path : paths_) addresses.push_back(path->address());
  return addresses;
}

Status Channel::connect(std::span<const PathAddress> peer) {
  if (peer.size() != paths_.size()) return {Code::peer_lost, "the peer has other paths"};
  for (std::size_t i = 0; i < peer.size(); ++i) {
    if (const Status status = paths_[i]->connect(peer[i]); !status.ok()) return status;
  }
  return {};
}

Status Channel::post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                          std::uint64_t cookie) {
  const Status status = sender_.post(data, bytes, tag, memory, cookie, freed());
  note(status);
  return status;
}

Status Channel::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  receiver_.post(buffers, cookie);
  note(sender_.flush(freed()));
  return {};
}

bool Channel::progress() {
  constexpr int kMaxRounds = 4;
  std::array<ibv_wc, 32> completions;
  bool any = false;
  for (int round = 0; round < kMaxRounds && !closed_; ++round) {
    const int count =
        context_.api().poll_cq(cq_, static_cast<int>(completions.size()), completions.data());
    if (count < 0) note({Code::system_error, "the completion queue cannot be polled", -count});
    for (int i = 0; i < count; ++i) take(completions[static_cast<std::size_t>(i)]);
    any |= count > 0;
    if (count < static_cast<int>(completions.size())) break;
  }
  if (closed_) return any;
  take_done();
  for (const auto& path : paths_) note(path->post_waiting());
  note(sender_.flush(freed()));
  return any;
}

void Channel::take(const ibv_wc& completion) {
  const WorkName name = WorkName::unpack(completion.wr_id);
  if (name.path >= paths_.size()) return;
  Path& path = *paths_[name.path];
  if (name.epoch != path.epoch()) return;  // of a queue pair that is gone
  if (completion.status != IBV_WC_SUCCESS) return take_failed(completion, name);
  if (!name.receive) return path.retire(name.number);
  path.take_receive(true);
  if (name.path == 0)
    take_message(name.number, completion.byte_len);
  else
    receiver_.written(Immediate::unpack(ntohl(completion.imm_data)));
  note(path.post_receive(name.number));
}

void Channel::take_failed(const ibv_wc& completion, const WorkName& name) {
  Path& path = *paths_[name.path];
  if (name.receive)
    path.take_receive(false);
  else
    path.retire(name.number);
  if (path.is_stopped()) return;
  path.stop();
  std::string words = "error " + std::to_string(completion.status) + " (vendor " +
                      std::to_string(completion.vendor_err) + "): " + words_of(completion.status);
  path_failures_.push_back({name.path, name.epoch, std::move(words)});
}

void Channel::take_message(std::uint32_t slot, std::uint32_t bytes) {
  MessageHeader header;
  const std::byte* at = incoming_->at(slot);
  if (bytes >= sizeof header) std::memcpy(&header, at, sizeof header);
  if (bytes != sizeof header + header.piece_bytes) {
    return note({Code::peer_lost, "the peer's message makes no sense"});
  }
  ++slots_freed_;
  sender_.take_counts(header);
  switch (header.kind) {
    case MessageKind::credit:
      return;
    case MessageKind::clear:
      return note(sender_.take_clear(header));
    case MessageKind::data:
    case MessageKind::request:
      return receiver_.arrive(header, {at + sizeof header, header.piece_bytes});
  }
  note({Code::peer_lost, "the peer's message is of no known kind"});
}

void Channel::take_done() {
  for (const auto& path : paths_) {
    while (const Work* work = path->next_done()) sender_.work_done(*work);
  }
}

bool Channel::arm() { return closed_ || context_.api().req_notify_cq(cq_) == 0; }

Status Channel::failure() const { return failure_.failed() ? failure_ : receiver_.failure(); }

std::vector<std::byte> Channel::delivered() const {
  std::vector<std::byte> counts(paths_.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const std::uint32_t count = paths_[i]->delivered();
    std::memcpy(counts.data() + i * sizeof count, &count, sizeof count);
  }
  return counts;
}

bool Channel::has_received(std::span<const std::byte> delivered) const {
  for (std::size_t i = 0; i < paths_.size() && (i + 1) * sizeof(std::uint32_t) <= delivered.size();
       ++i) {
    std::uint32_t count = 0;
    std::memcpy(&count, delivered.data() + i * sizeof count, sizeof count);
    if (static_cast<std::int32_t>(paths_[i]->received() - count) < 0) return false;
  }
  return true;
}

void Channel::fail_posts(const Status& status) {
  if (closed_) return;
  closed_ = true;
  for (const auto& path : paths_) path->close();
  sender_.fail(status);
  receiver_.fail(status);
}

void Channel::add_to(Counters& counters) const {
  counters.bytes_sent += sender_.sent_bytes();
  counters.payload_sent += sender_.payload_bytes();
  counters.messages_sent += sender_.messages();
  counters.unexpected_bytes += receiver_.unexpected_bytes();
}

}  // namespace thinwire::transports::verbs
