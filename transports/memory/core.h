// The state behind the memory transport: endpoints' inboxes and the two ends of each link. Internal
// to this folder. Every function requires Core::mutex held.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "transports/memory/fabric.h"
#include "transports/transport.h"

namespace thinwire::transports::memory {

struct LinkEnd;

struct Inbox {
  int device = 0;
  std::vector<LinkEnd*> links;
  std::deque<Completion> completions;
  Counters counters;
  bool attention = false;  // something happened since the last poll
  std::condition_variable changed;
};

// A send that the receiving side has not taken yet.
struct Outgoing {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t tag = 0;
  std::uint64_t cookie = 0;
  int polls_left = 0;
  std::int64_t not_before_ns = 0;
  bool corrupt = false;
};

// A message that came before its receive.
struct Stored {
  std::uint64_t tag = 0;
  std::vector<std::byte> bytes;
};

// A post_receive() whose buffers are not all filled.
struct Group {
  Completion completion;
  int missing = 0;
};

struct Awaited {
  ReceiveBuffer buffer;
  std::shared_ptr<Group> group;
  int position = 0;  // within the group
};

struct LinkEnd {
  Inbox* inbox = nullptr;
  LinkEnd* peer = nullptr;
  Status state = Status::would_block();
  bool queued = false;  // at a listener: established by the next poll, before it is accepted
  bool peer_closed = false;
  int peer_device = -1;
  std::vector<std::byte> hello;
  std::string peer_name;
  std::deque<Outgoing> outgoing;
  std::deque<Stored> stored;
  std::size_t stored_bytes = 0;
  std::deque<Awaited> awaited;
  int receives = 0;                                    // posted groups not completed
  std::map<void*, std::unique_ptr<std::byte[]>> lent;  // views, by their addresses
  bool lends = false;
  std::uint64_t borrowable = 0;  // messages so far that might have been lent
};

struct Port {
  int device = 0;
  std::deque<LinkEnd*> callers;  // connecting ends not accepted yet
  Inbox* inbox = nullptr;
};

struct Core {
  explicit Core(const FabricOptions& fabric_options) : options(fabric_options) {}

  const FabricOptions options;
  std::mutex mutex;
  Faults faults;
  std::uint64_t posts = 0;
  std::uint64_t messages = 0;  // since set_faults()
  std::mt19937_64 random{1};
  std::map<std::uint64_t, Port*> ports;  // by handle number
  std::uint64_t next_port = 1;
  std::vector<LinkEnd*> links;

  bool refuses();
  Outgoing dress(Outgoing message);  // gives the message its faults
};

void wake(Inbox& inbox);
void join(LinkEnd& caller, LinkEnd& acceptor);
void fail(LinkEnd& end, const Status& status);
void fail_both(LinkEnd& end, const Status& status);
// Detaches an end that is being destroyed; its posts are dropped.
void close(Core& core, LinkEnd& end);
// Moves what may arrive from end.peer into end's buffers or store.
void deliver(Core& core, LinkEnd& end);
// Fills buffers that were posted after their message came.
void match_stored(LinkEnd& end);

}  // namespace thinwire::transports::memory
