#include "transports/memory/core.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::memory {
namespace {

constexpr Status kTooLong{Code::invalid_argument, "a message is longer than its buffer"};
constexpr Status kPeerGone{Code::peer_lost, "the peer closed the connection"};

void complete(Inbox& inbox, const Completion& completion) {
  inbox.completions.push_back(completion);
  wake(inbox);
}

std::deque<Awaited>::iterator find_awaited(LinkEnd& end, std::uint64_t tag) {
  return std::find_if(end.awaited.begin(), end.awaited.end(),
                      [&](const Awaited& a) { return a.buffer.tag == tag; });
}

bool may_lend(LinkEnd& end, const Awaited& awaited) {
  return end.lends && awaited.buffer.borrow && awaited.group->completion.count == 1 &&
         end.borrowable++ % 2 == 0;
}

// False, and the link fails on both sides, when the message does not fit.
bool fill(LinkEnd& end, const std::deque<Awaited>::iterator& found, const std::byte* data,
          std::size_t bytes) {
  if (bytes > found->buffer.bytes) {
    fail_both(end, kTooLong);
    return false;
  }
  const std::shared_ptr<Group> group = found->group;
  if (may_lend(end, *found) && bytes > 0) {
    auto copy = std::make_unique<std::byte[]>(bytes);
    std::memcpy(copy.get(), data, bytes);
    group->completion.view = copy.get();
    end.lent.emplace(copy.get(), std::move(copy));
  } else if (bytes > 0) {
    std::memcpy(found->buffer.data, data, bytes);
  }
  group->completion.bytes[static_cast<std::size_t>(found->position)] = bytes;
  end.awaited.erase(found);
  if (--group->missing == 0) {
    --end.receives;
    complete(*end.inbox, group->completion);
  }
  return true;
}

enum class Taken { yes, no, link_failed };

void complete_send(LinkEnd& sender, const Outgoing& message) {
  Completion completion;
  completion.cookie = message.cookie;
  completion.count = 1;
  completion.bytes[0] = message.bytes;
  complete(*sender.inbox, completion);
}

// Takes one message into its buffer, or into the store while the window has room.
Taken take(Core& core, LinkEnd& end, const Outgoing& message) {
  std::vector<std::byte> altered;
  const std::byte* data = message.data;
  std::size_t bytes = message.bytes;
  if (message.corrupt && bytes > 0) {
    altered.assign(data, data + bytes);
    if (core.faults.corruption == Corruption::flip_first_byte) {
      altered[0] ^= std::byte{0xff};
    } else {
      altered.pop_back();
    }
    data = altered.data();
    bytes = altered.size();
  }
  const auto found = find_awaited(end, message.tag);
  if (found != end.awaited.end()) {
    return fill(end, found, data, bytes) ? Taken::yes : Taken::link_failed;
  }
  if (end.stored_bytes + bytes > core.options.window_bytes) return Taken::no;
  end.stored.push_back({message.tag, std::vector<std::byte>(data, data + bytes)});
  end.stored_bytes += bytes;
  end.inbox->counters.unexpected_bytes += bytes;
  return Taken::yes;
}

bool is_late(const Core& core, const Outgoing& message) {
  if (message.polls_left > 0) return true;
  return core.faults.clock != nullptr && core.faults.clock->now_ns() < message.not_before_ns;
}

bool is_first_of_tag(const std::deque<Outgoing>& queue, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (queue[i].tag == queue[index].tag) return false;
  }
  return true;
}

// As one ordered stream would: what cannot be taken holds up all that follows.
void deliver_in_order(Core& core, LinkEnd& end) {
  std::deque<Outgoing>& queue = end.peer->outgoing;
  while (!queue.empty() && !is_late(core, queue.front())) {
    const Outgoing message = queue.front();
    const Taken taken = take(core, end, message);
    if (taken != Taken::yes) return;
    queue.pop_front();
    complete_send(*end.peer, message);
  }
}

void deliver_reordered(Core& core, LinkEnd& end) {
  std::deque<Outgoing>& queue = end.peer->outgoing;
  for (std::size_t tries = queue.size(); tries > 0 && !queue.empty(); --tries) {
    const std::size_t index = core.random() % queue.size();
    const Outgoing message = queue[index];
    if (is_late(core, message) || !is_first_of_tag(queue, index)) continue;
    const Taken taken = take(core, end, message);
    if (taken == Taken::link_failed) return;
    if (taken == Taken::no) continue;
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
    complete_send(*end.peer, message);
  }
}

}  // namespace

bool Core::refuses() {
  ++posts;
  return faults.refuse_every > 0 && posts % static_cast<std::uint64_t>(faults.refuse_every) == 0;
}

Outgoing Core::dress(Outgoing message) {
  ++messages;
  message.corrupt = messages == faults.corrupt_message;
  if (faults.delay_polls > 0) {
    message.polls_left =
        static_cast<int>(random() % (static_cast<std::uint64_t>(faults.delay_polls) + 1));
  }
  if (faults.clock != nullptr) message.not_before_ns = faults.clock->now_ns() + faults.delay_ns;
  return message;
}

void wake(Inbox& inbox) {
  inbox.attention = true;
  inbox.changed.notify_all();
}

void join(LinkEnd& caller, LinkEnd& acceptor) {
  caller.peer = &acceptor;
  acceptor.peer = &caller;
  caller.state = acceptor.state = Status();
  caller.queued = false;
  acceptor.hello = caller.hello;
  caller.peer_device = acceptor.inbox->device;
  acceptor.peer_device = caller.inbox->device;
  for (LinkEnd* end : {&caller, &acceptor}) {
    end->peer_name = "memory device " + std::to_string(end->peer_device);
    wake(*end->inbox);
  }
}

void fail(LinkEnd& end, const Status& status) {
  if (end.state.failed()) return;
  end.state = status;
  Completion completion;
  completion.status = status;
  for (const Outgoing& message : end.outgoing) {
    completion.cookie = message.cookie;
    complete(*end.inbox, completion);
  }
  end.outgoing.clear();
  const Group* last = nullptr;
  for (const Awaited& awaited : end.awaited) {
    if (awaited.group.get() == last) continue;
    last = awaited.group.get();
    completion.cookie = awaited.group->completion.cookie;
    complete(*end.inbox, completion);
  }
  end.awaited.clear();
  end.stored.clear();
  wake(*end.inbox);
}

void fail_both(LinkEnd& end, const Status& status) {
  if (end.peer != nullptr) fail(*end.peer, status);
  fail(end, status);
}

void close(Core& core, LinkEnd& end) {
  std::erase(core.links, &end);
  std::erase(end.inbox->links, &end);
  for (auto& [number, port] : core.ports) std::erase(port->callers, &end);
  if (end.peer == nullptr) return;
  end.peer->peer_closed = true;
  end.peer->peer = nullptr;
  wake(*end.peer->inbox);
}

void deliver(Core& core, LinkEnd& end) {
  if (end.queued && end.state.is_would_block()) end.state = Status();
  if (end.peer != nullptr && end.state.ok()) {
    for (Outgoing& message : end.peer->outgoing) {
      if (message.polls_left > 0) --message.polls_left;
    }
    if (core.faults.reorder) {
      deliver_reordered(core, end);
    } else {
      deliver_in_order(core, end);
    }
  }
  // What came before is there for receives that come yet.
  const bool useful = !end.stored.empty() && end.receives == 0 && end.outgoing.empty();
  if (end.peer_closed && !useful) fail(end, kPeerGone);
}

void match_stored(LinkEnd& end) {
  for (auto stored = end.stored.begin(); stored != end.stored.end();) {
    const auto found = find_awaited(end, stored->tag);
    if (found == end.awaited.end()) {
      ++stored;
      continue;
    }
    const std::vector<std::byte> bytes = std::move(stored->bytes);
    end.stored_bytes -= bytes.size();
    stored = end.stored.erase(stored);
    if (!fill(end, found, bytes.data(), bytes.size())) return;
  }
}

}  // namespace thinwire::transports::memory
