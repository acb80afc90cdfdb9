// RingRunner: all-reduce, all-gather and reduce-scatter by NCCL's ring over isend/irecv, with
// NCCL's sizes: 1 MiB slices, four slots a connection and direction, reduction on the host.
// Owner: the benchmark; one thread.
#pragma once

#include <memory>
#include <vector>

#include "perf/options.h"
#include "perf/plugin_context.h"
#include "perf/runner.h"

namespace thinwire::perf {

class RingChannel;

class RingRunner final : public Runner {
 public:
  // Connects the ring; collective over the session.
  RingRunner(const Options& options, PluginContext& context);
  ~RingRunner() override;

  std::string description() const override;
  void attach(Pages&, Pages&) override {}
  void begin(const Work& work) override;
  void run(int iterations) override;
  std::optional<std::uint64_t> bytes_sent() const override { return context_.bytes_sent(); }
  std::string interface() const override { return device_.properties.name; }

 private:
  void run_alone();

  PluginContext& context_;
  Device device_;
  std::vector<NetLink> links_;
  std::vector<std::unique_ptr<RingChannel>> channels_;
  Work work_;
  std::size_t slice_bytes_ = 0;
};

}  // namespace thinwire::perf
