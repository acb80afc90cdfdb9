// NcclRunner: the same collectives by NCCL itself on GPUs, with whatever network plugin NCCL loads.
// No kernels: data is filled and checked on the host and copied. Owner: the benchmark; one thread.
#pragma once

#include <memory>

#include "perf/nccl_library.h"
#include "perf/options.h"
#include "perf/runner.h"
#include "perf/session.h"
#include "perf/watch.h"

namespace thinwire::perf {

class NcclRunner final : public Runner {
 public:
  // Chooses a GPU by the rank's place on its host and joins NCCL's communicator; collective over
  // the session. Throws Failure: no_device where there is no GPU, CUDA runtime or NCCL.
  NcclRunner(const Options& options, Session& session, Watch& watch);
  ~NcclRunner() override;

  std::string description() const override;
  bool has_in_place() const override { return collective_ != Collective::send_recv; }
  void attach(Pages& send, Pages& recv) override;
  void begin(const Work& work) override { work_ = work; }
  void run(int iterations) override;
  void upload(const Work& work) override;
  void download(const Work& work) override;

 private:
  // A host buffer and its copy on the GPU.
  struct Mirror {
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    void* gpu = nullptr;
  };

  void* on_gpu(const std::byte* host) const;
  void enqueue();
  void exchange(void* send, void* recv);
  void drain();

  Session& session_;
  Watch& watch_;
  Collective collective_;
  std::unique_ptr<NcclLibrary> library_;
  int gpu_ = 0;
  int version_ = 0;
  void* comm_ = nullptr;
  void* stream_ = nullptr;
  bool failed_ = false;
  Mirror send_;
  Mirror recv_;
  Work work_;
};

}  // namespace thinwire::perf
