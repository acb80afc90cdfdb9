// RequestQueue: the requests in flight on one comm, completed in the order they were posted, as
// NCCL's proxy does. Owner: a runner; one thread.
#pragma once

#include <cstddef>
#include <deque>

#include "perf/plugin_api.h"

namespace thinwire::perf {

class RequestQueue {
 public:
  RequestQueue(PluginApi& api, std::size_t window) : api_(&api), window_(window) {}

  bool full() const { return requests_.size() >= window_; }
  bool empty() const { return requests_.empty(); }
  void push(void* request) { requests_.push_back(request); }

  // Tests the oldest; true when it was complete: it is gone then, and `bytes` (may be null) is what
  // test() reported. Throws Failure on an error of the plugin.
  bool pop_if_done(int* bytes) {
    if (requests_.empty()) return false;
    int done = 0;
    int size = 0;
    nccl_check(*api_, api_->test(requests_.front(), &done, &size), "test");
    if (done == 0) return false;
    if (bytes != nullptr) *bytes = size;
    requests_.pop_front();
    return true;
  }

 private:
  PluginApi* api_;
  std::size_t window_;
  std::deque<void*> requests_;
};

}  // namespace thinwire::perf
