// The accepting side of a set-up: admits sockets that present this listener's token and puts them
// together to connections. Whatever else comes is closed, counted and otherwise ignored.
// Owner: the caller of Endpoint::listen(); the endpoint's thread. Never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "transports/tcp/endpoint_state.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/introduction.h"
#include "transports/tcp/settings.h"
#include "transports/tcp/socket.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

// A connection all of whose sockets are there.
struct Arrival {
  Introduction introduction;
  SocketAddress peer;
  std::vector<UniqueFd> sockets;
};

class TcpListener final : public Listener {
 public:
  // Binds `address` (its port 0: the kernel chooses one).
  static Result<std::unique_ptr<TcpListener>> open(EndpointState& state,
                                                   const SocketAddress& address);
  ~TcpListener() override;

  const Handle& handle() const override { return handle_; }

  // Accepts, reads introductions, drops what is late.
  void progress();
  // The next complete connection; would_block while there is none.
  Result<Arrival> take();

 private:
  // A socket that did not introduce itself yet.
  struct Stranger {
    UniqueFd fd;
    Watch watch;
    SocketAddress peer;
    std::int64_t deadline_ns = 0;
    std::size_t received = 0;
    std::array<std::byte, kIntroductionBytes> bytes{};
  };
  // A connection some of whose sockets are there.
  struct Partial {
    Arrival arrival;
    std::int64_t deadline_ns = 0;
  };

  TcpListener(EndpointState& state, UniqueFd fd);
  void accept_all(std::int64_t now_ns);
  // False: done with it, one way or the other.
  bool keep_reading(Stranger& stranger, std::int64_t now_ns);
  void admit(Stranger& stranger, const Introduction& introduction, std::int64_t now_ns);
  // Counts it; false, as keep_reading() answers.
  bool refuse(Stranger& stranger, const char* why);
  void answer(int fd, Answer what) const;
  void warn_not_accepting(int error);

  EndpointState& state_;
  const Settings& settings_;
  UniqueFd fd_;
  Watch watch_;
  HandleInfo info_;
  Handle handle_;
  bool logged_stranger_ = false;
  bool logged_not_accepting_ = false;
  std::deque<Stranger> strangers_;
  std::map<ConnectionId, Partial> partial_;
  std::deque<Arrival> complete_;
};

}  // namespace thinwire::transports::tcp
