// GroupLinks: the connections of one collective group while it is being set up, and a blocking
// message exchange over them. Owner: CollComm::connect(); one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "transports/transport.h"

namespace thinwire::plugin {

class GroupLinks {
 public:
  // `handles` in rank order. `listener` belongs to this rank; all references outlive this.
  GroupLinks(transports::Endpoint& endpoint, transports::Listener& listener,
             std::vector<transports::Handle> handles, int rank, const Clock& clock, const Log& log);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(handles_.size()); }

  // Connects to every rank of `peers` that has no link yet: the higher rank dials the lower one.
  // Both sides must ask for the link. Blocks until all are there or `deadline_ns`. Returns the
  // ranks that could not be reached, in words ("" when all are there).
  std::string establish(std::span<const int> peers, std::int64_t deadline_ns);

  bool linked(int peer) const { return links_[static_cast<std::size_t>(peer)] != nullptr; }

  // Sends or receives one message of at most kMaxMessageBytes; blocks until done or the deadline
  // (Code::peer_lost). Both sides name the same tag. After a failure the links are only good for
  // being destroyed.
  static constexpr std::size_t kMaxMessageBytes = 128 * 1024;
  Status send(int peer, std::uint64_t tag, const std::string& message, std::int64_t deadline_ns);
  Result<std::string> receive(int peer, std::uint64_t tag, std::int64_t deadline_ns);

  // `link` takes the place of the one to `peer`, on which messages may still be under way: that one
  // stays until take_links().
  void replace(int peer, std::unique_ptr<transports::Connection> link);
  std::size_t replaced() const { return replaced_.size(); }

  // Index = rank; null where there is no link. Empties this object.
  std::vector<std::unique_ptr<transports::Connection>> take_links() {
    replaced_.clear();
    return std::move(links_);
  }

 private:
  std::string dial(int peer);
  void accept_arrivals();
  bool admit(std::unique_ptr<transports::Connection> connection);
  std::string check(int peer, bool* ready) const;
  Status wait_for(std::uint64_t cookie, std::int64_t deadline_ns, std::size_t* bytes);

  transports::Endpoint& endpoint_;
  transports::Listener& listener_;
  const std::vector<transports::Handle> handles_;
  const int rank_;
  const Clock& clock_;
  const Log& log_;
  std::uint64_t next_cookie_ = 1;
  // Declared before the links: a post that is still outstanding refers to one of these.
  std::vector<std::unique_ptr<std::string>> buffers_;
  std::vector<std::unique_ptr<transports::Connection>> links_;
  std::vector<std::unique_ptr<transports::Connection>> replaced_;
};

}  // namespace thinwire::plugin
