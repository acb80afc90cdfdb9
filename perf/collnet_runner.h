// CollNetRunner: collectives through the plugin's CollNet table, cut and kept in flight as NCCL's
// proxy does. Owner: the benchmark; one thread.
//
// By default calls work straight on the user's buffers, in NCCL's chunks: under NCCL a GPU kernel
// does the copying. With --staging they go through staging memory like NCCL's, copied here. With
// --registered one call covers up to maxCollBytes and has the exact size.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "perf/collnet_plan.h"
#include "perf/options.h"
#include "perf/plugin_context.h"
#include "perf/request_queue.h"
#include "perf/runner.h"

namespace thinwire::perf {

class CollNetRunner final : public Runner {
 public:
  // Listens and connects; collective over the session. context.collnet() is not null.
  CollNetRunner(const Options& options, PluginContext& context);
  ~CollNetRunner() override;

  std::string description() const override;
  bool supports(const Work& work) override;
  std::size_t tail_bytes() const override;
  void attach(Pages& send, Pages& recv) override;
  void begin(const Work& work) override;
  void run(int iterations) override;
  std::optional<std::uint64_t> bytes_sent() const override { return context_.bytes_sent(); }
  std::string interface() const override { return device_.properties.name; }

 private:
  // The calls of one group of channels that are in flight, by index into calls_.
  struct Group {
    RequestQueue queue;
    std::deque<std::size_t> calls;
  };

  void connect();
  void run_once();
  bool submit_next();
  bool complete_oldest(Group& group);
  void* submit(const CollNetCall& call);
  CollBuffer send_buffer(const CollNetCall& call) const;
  CollBuffer recv_buffer(const CollNetCall& call) const;
  void* memory_of(const std::byte* data) const;

  const Options& options_;
  PluginContext& context_;
  CollNetApi& api_;
  Device device_;
  void* comm_ = nullptr;
  std::optional<Pages> staging_send_;
  std::optional<Pages> staging_recv_;
  std::vector<Registration> registrations_;  // send, receive, then staging likewise
  std::byte* recv_begin_ = nullptr;          // of the attached receive buffer
  std::size_t recv_size_ = 0;
  Work work_;
  std::vector<CollNetCall> calls_;
  std::vector<Group> groups_;
  std::size_t next_ = 0;
  std::size_t completed_ = 0;
};

}  // namespace thinwire::perf
