// CallLimit: a plugin's call that may block and yet is to end within --timeout. Owner: whoever
// makes the call, for as long as it lasts; one at a time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace thinwire::perf {

class CallLimit {
 public:
  // timeout_s 0: none. Where the object still exists after timeout_s, it says on standard error
  // that `rank`'s `call` has not returned, and ends the process with ExitCode::runtime_error:
  // nothing can be undone while a library holds the thread. Starts a thread.
  CallLimit(int rank, std::string call, int timeout_s);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

 private:
  void watch(int timeout_s);

  std::string text_;
  std::mutex mutex_;
  std::condition_variable returned_changed_;
  bool returned_ = false;
  std::thread thread_;
};

}  // namespace thinwire::perf
