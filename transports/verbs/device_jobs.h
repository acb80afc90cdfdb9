// What a connection has its devices do to GPU memory of this side: flush what was received there,
// and copy short messages into it. One after the other, in the order asked for.
// Owner: a Channel; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/verbs/loopback.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {

class DeviceJobs {
 public:
  DeviceJobs(const Contexts& contexts, std::uint32_t connection, Finished& finished)
      : contexts_(contexts), connection_(connection), finished_(finished), ways_(contexts.size()) {}

  // Completes with `cookie` once what the devices wrote before is visible to the GPU. `data` lies
  // in memory that has these keys.
  void flush(const void* data, const Keys& keys, std::uint64_t cookie);
  // Copies `count` bytes, at most kMaxEagerBytes, to `to`; next_copied() gives `owner` then.
  void copy(void* to, const Keys& keys, std::unique_ptr<std::byte[]> bytes, std::size_t count,
            void* owner);

  // True when something happened.
  bool progress();
  // Asks for an event at the next completion. False: there may have been one already.
  bool arm();
  // Null: none. Once each.
  void* next_copied();
  // The only device failed at a job, or several did again and again.
  const Status& failure() const { return failure_; }
  // Completes the flushes with `status`, drops the copies; the devices let go of the memory first.
  void fail(const Status& status);

 private:
  struct Job {
    std::uint64_t address = 0;
    Keys keys{};
    std::uint64_t cookie = 0;
    std::unique_ptr<std::byte[]> bytes;  // null: a flush
    std::size_t count = 0;
    void* owner = nullptr;
  };
  // The way over one device.
  struct Way {
    std::unique_ptr<Loopback> loopback;
    bool busy = false;
  };
  // Gives the first job to the devices that are up: a flush to all of them, a copy to one.
  void start();
  Status give(std::size_t member);
  void failed(std::size_t member, const Status& status);
  bool poll();
  void finish();

  const Contexts& contexts_;
  const std::uint32_t connection_;
  Finished& finished_;
  std::vector<Way> ways_;
  Ring<Job> jobs_;
  bool started_ = false;
  bool again_ = false;  // a device failed at the job: it starts anew with those that are left
  int failures_ = 0;    // at the job
  Ring<void*> copied_;
  Status failure_;
};

}  // namespace thinwire::transports::verbs
