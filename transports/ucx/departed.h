// Endpoints whose owners are gone and whose last messages are not out yet: UCX says that they are
// only after the peers have made progress, which nobody here can wait for.
// Owner: UcxTransport. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "transports/transport.h"
#include "transports/ucx/endpoint_state.h"

namespace thinwire::transports::ucx {

class Departed {
 public:
  explicit Departed(const Clock& clock) : clock_(clock) {}
  // Waits until all are done, a quarter of a second at most.
  ~Departed();
  Departed(const Departed&) = delete;
  Departed& operator=(const Departed&) = delete;

  // `state` refers to `control`.
  void take(std::unique_ptr<Endpoint> control, std::unique_ptr<EndpointState> state);
  // Called now and then by endpoints that live. Never blocks.
  void progress();

 private:
  struct Remains {
    std::unique_ptr<Endpoint> control;
    std::unique_ptr<EndpointState> state;
    std::int64_t until_ns = 0;
  };
  void progress_locked();

  const Clock& clock_;
  std::mutex mutex_;
  std::vector<Remains> remains_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace thinwire::transports::ucx
