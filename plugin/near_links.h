// Moves the links between ranks of one host from the network to shared memory while a group is set
// up. Owner: CollComm::connect(); one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "plugin/group_links.h"
#include "transports/transport.h"

namespace thinwire::plugin {

class NearLinks {
 public:
  // `links` to all `peers` are there; all of them do the same. `near`, null where this rank can
  // share no memory, is driven whenever their endpoint is. `reach`: equal for those who may try
  // (local_reach()). References outlive this.
  NearLinks(GroupLinks& links, transports::Endpoint* near, std::uint64_t reach,
            std::span<const int> peers, const Clock& clock, const Log& log);

  // Both sides of every link take the new one, or both keep the old one, with the reason logged.
  // Blocks until done or `deadline_ns`. Returns the links of the network that failed meanwhile, in
  // words ("" when all is well).
  std::string establish(std::int64_t deadline_ns);

 private:
  // One peer's new link, or why there is none.
  struct Near {
    int peer = 0;
    std::unique_ptr<transports::Connection> connection;
    std::string failure;
  };
  Status exchange_cards(std::int64_t deadline_ns);
  void read_card(Near& near, const std::string& message);
  void dial(Near& near, const transports::Handle& handle);
  void connect_all(std::int64_t deadline_ns);
  void accept_arrivals();
  bool is_settled(Near& near) const;
  Status agree(std::int64_t deadline_ns);

  GroupLinks& links_;
  transports::Endpoint* const endpoint_;
  const std::uint64_t reach_;
  const Clock& clock_;
  const Log& log_;
  std::unique_ptr<transports::Listener> listener_;
  std::vector<Near> nears_;
  int failed_peer_ = -1;
};

}  // namespace thinwire::plugin
