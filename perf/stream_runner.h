// StreamRunner: sendrecv over isend/irecv straight from the user's buffers, one long stream of
// messages with a window of outstanding requests. Owner: the benchmark; one thread.
//
// ring: every rank sends to its right and receives from its left, 128 KiB messages as NCCL's p2p
// does. pair: even ranks send whole messages to the next odd one. pingpong: they also send back.
#pragma once

#include <optional>
#include <vector>

#include "perf/options.h"
#include "perf/plugin_context.h"
#include "perf/request_queue.h"
#include "perf/runner.h"

namespace thinwire::perf {

// Whom `rank` talks to under `pattern`. Throws Failure (usage) where the ranks do not fit it.
Peers peers_of(Pattern pattern, int rank, int ranks);

// How many messages of `bytes` lie side by side, so that those in flight have memory of their own.
int stream_copies(const Options& options, std::size_t bytes);

class StreamRunner final : public Runner {
 public:
  // Connects; collective over the session.
  StreamRunner(const Options& options, PluginContext& context);

  std::string description() const override;
  bool has_in_place() const override { return false; }
  int copies(std::size_t bytes) const override { return stream_copies(options_, bytes); }
  int messages_per_iteration() const override {
    return options_.pattern == Pattern::pingpong ? 2 : 1;
  }
  void attach(Pages& send, Pages& recv) override;
  void begin(const Work& work) override;
  void run(int iterations) override;
  std::optional<std::uint64_t> bytes_sent() const override { return context_.bytes_sent(); }
  std::string interface() const override { return device_.properties.name; }

 private:
  // One direction's position in the stream of chunks.
  struct Flow {
    std::size_t posted = 0;
    std::size_t done = 0;
    std::size_t total = 0;
  };

  bool progress_sends();
  bool progress_recvs();
  void stream(int sends, int recvs);
  // Chunk `index` of the stream: where in the buffers, and how long.
  std::size_t offset_of(std::size_t index) const;
  std::size_t bytes_of(std::size_t index) const;

  const Options& options_;
  PluginContext& context_;
  Device device_;
  Peers peers_;
  std::vector<NetLink> links_;
  std::optional<Registration> send_memory_;
  std::optional<Registration> recv_memory_;
  RequestQueue sends_;
  RequestQueue recvs_;
  Work work_;
  std::size_t chunk_bytes_ = 0;
  std::size_t chunks_per_message_ = 1;
  std::size_t copies_ = 1;
  Flow sending_;
  Flow receiving_;
};

}  // namespace thinwire::perf
