#include "perf/nccl_runner.h"

#include <unistd.h>

#include <cstring>

#include "perf/failure.h"

namespace thinwire::perf {
namespace {

// How many ranks before this one are on its host.
int place_on_host(Session& session) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const auto hosts = session.all_gather(host);
  int place = 0;
  for (int rank = 0; rank < session.rank(); ++rank) {
    if (hosts[static_cast<std::size_t>(rank)] == host) ++place;
  }
  return place;
}

}  // namespace

NcclRunner::NcclRunner(const Options& options, Session& session, Watch& watch)
    : session_(session), watch_(watch), collective_(options.collective) {
  NcclUniqueId id{};
  const int place = place_on_host(session);
  session_.agree([&] {
    library_ = std::make_unique<NcclLibrary>();
    gpu_ = place % library_->gpus();
    library_->check_cuda(library_->cuda_set_device(gpu_), "cudaSetDevice");
    library_->check_cuda(library_->cuda_stream_create(&stream_), "cudaStreamCreate");
    library_->check_nccl(library_->get_version(&version_), "ncclGetVersion");
    if (session_.is_root()) {
      library_->check_nccl(library_->get_unique_id(&id), "ncclGetUniqueId");
    }
  });
  const auto ids = session_.all_gather({id.bytes, sizeof id.bytes});
  std::memcpy(id.bytes, ids[0].data(), std::min(sizeof id.bytes, ids[0].size()));
  session_.agree([&] {
    library_->check_nccl(library_->comm_init_rank(&comm_, session_.ranks(), id, session_.rank()),
                         "ncclCommInitRank");
  });
}

NcclRunner::~NcclRunner() {
  if (comm_ != nullptr) {
    (void)(failed_ ? library_->comm_abort(comm_) : library_->comm_destroy(comm_));
  }
  for (const Mirror* mirror : {&send_, &recv_}) {
    if (mirror->gpu != nullptr) (void)library_->cuda_free(mirror->gpu);
  }
  if (stream_ != nullptr) (void)library_->cuda_stream_destroy(stream_);
}

std::string NcclRunner::description() const {
  return "NCCL " + std::to_string(version_ / 10000) + "." + std::to_string(version_ / 100 % 100) +
         "." + std::to_string(version_ % 100) + ", GPU " + std::to_string(gpu_);
}

void NcclRunner::attach(Pages& send, Pages& recv) {
  send_ = {send.data(), send.size(), nullptr};
  recv_ = {recv.data(), recv.size(), nullptr};
  for (Mirror* mirror : {&send_, &recv_}) {
    library_->check_cuda(library_->cuda_malloc(&mirror->gpu, mirror->bytes), "cudaMalloc");
  }
}

void* NcclRunner::on_gpu(const std::byte* host) const {
  const bool in_recv = host >= recv_.host && host < recv_.host + recv_.bytes;
  const Mirror& mirror = in_recv ? recv_ : send_;
  return static_cast<std::byte*>(mirror.gpu) + (host - mirror.host);
}

void NcclRunner::upload(const Work& work) {
  // The receive buffer first: in place the send data lies within it.
  library_->check_cuda(library_->cuda_memcpy(on_gpu(work.recv), work.recv, work.recv_bytes(),
                                             NcclLibrary::kCopyDefault),
                       "cudaMemcpy");
  library_->check_cuda(library_->cuda_memcpy(on_gpu(work.send), work.send, work.send_bytes(),
                                             NcclLibrary::kCopyDefault),
                       "cudaMemcpy");
}

void NcclRunner::download(const Work& work) {
  library_->check_cuda(library_->cuda_memcpy(work.recv, on_gpu(work.recv), work.recv_bytes(),
                                             NcclLibrary::kCopyDefault),
                       "cudaMemcpy");
}

void NcclRunner::exchange(void* send, void* recv) {
  const int ranks = session_.ranks();
  const int right = (session_.rank() + 1) % ranks;
  const int left = (session_.rank() + ranks - 1) % ranks;
  const int type = static_cast<int>(work_.type);
  library_->check_nccl(library_->group_start(), "ncclGroupStart");
  library_->check_nccl(library_->send(send, work_.shape.call_count, type, right, comm_, stream_),
                       "ncclSend");
  library_->check_nccl(library_->recv(recv, work_.shape.call_count, type, left, comm_, stream_),
                       "ncclRecv");
  library_->check_nccl(library_->group_end(), "ncclGroupEnd");
}

void NcclRunner::enqueue() {
  void* send = on_gpu(work_.send);
  void* recv = on_gpu(work_.recv);
  const std::size_t count = work_.shape.call_count;
  const int type = static_cast<int>(work_.type);
  const int op = static_cast<int>(work_.op);
  switch (work_.collective) {
    case Collective::all_reduce:
      return library_->check_nccl(library_->all_reduce(send, recv, count, type, op, comm_, stream_),
                                  "ncclAllReduce");
    case Collective::all_gather:
      return library_->check_nccl(library_->all_gather(send, recv, count, type, comm_, stream_),
                                  "ncclAllGather");
    case Collective::reduce_scatter:
      return library_->check_nccl(
          library_->reduce_scatter(send, recv, count, type, op, comm_, stream_),
          "ncclReduceScatter");
    case Collective::send_recv:
      return exchange(send, recv);
  }
}

void NcclRunner::drain() {
  int state = NcclLibrary::kNotReady;
  watch_.poll_until(
      [&] {
        state = library_->cuda_stream_query(stream_);
        int error = 0;
        library_->check_nccl(library_->comm_get_async_error(comm_, &error),
                             "ncclCommGetAsyncError");
        library_->check_nccl(error, "NCCL, asynchronously,");
        return state != NcclLibrary::kNotReady;
      },
      [&] { return state != NcclLibrary::kNotReady; });
  library_->check_cuda(state, "cudaStreamQuery");
}

void NcclRunner::run(int iterations) {
  failed_ = true;
  for (int i = 0; i < iterations; ++i) enqueue();
  drain();
  failed_ = false;
}

}  // namespace thinwire::perf
