// Runner: one way of carrying out a collective (net ring, CollNet, NCCL), as the benchmark sees it.
// Owner: one per rank process; one thread. Everything throws Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "perf/collective.h"
#include "perf/pages.h"

namespace thinwire::perf {

// One collective call, on this rank.
struct Work {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::float32;
  PerfOp op = PerfOp::sum;
  Shape shape;
  std::byte* send = nullptr;
  std::byte* recv = nullptr;  // may be `send`, or overlap it as NCCL's in-place rules say

  std::size_t send_bytes() const { return shape.send_count * element_bytes(type); }
  std::size_t recv_bytes() const { return shape.recv_count * element_bytes(type); }
};

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // "collnet v12, device 0 eth0, 4 channels".
  virtual std::string description() const = 0;
  // Whether the plugin can do this at all.
  virtual bool supports(const Work&) { return true; }
  virtual bool has_in_place() const { return true; }
  // Bytes behind the end of a tensor that a call may read and write as well.
  virtual std::size_t tail_bytes() const { return 0; }
  // How many messages of this size lie side by side in the buffers, used in turns.
  virtual int copies(std::size_t /*bytes*/) const { return 1; }
  // Iteration time is that of this many message times (a round trip has two).
  virtual int messages_per_iteration() const { return 1; }

  // Registers the memory that every later Work lies in. Once; both outlive the runner.
  virtual void attach(Pages& send, Pages& recv) = 0;
  // Prepares (not timed) what run() repeats; run() blocks until `iterations` are complete here.
  virtual void begin(const Work& work) = 0;
  virtual void run(int iterations) = 0;

  // Between host buffers and where the collective works; nothing where that is the same.
  virtual void upload(const Work&) {}
  virtual void download(const Work&) {}

  // Bytes this process has put on the wire so far, where the plugin counts them.
  virtual std::optional<std::uint64_t> bytes_sent() const { return std::nullopt; }
  // The network interface it sends through, "" where it is none.
  virtual std::string interface() const { return {}; }
};

}  // namespace thinwire::perf
