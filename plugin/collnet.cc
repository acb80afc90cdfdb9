#include "plugin/collnet.h"

#include <algorithm>
#include <cstring>

#include "plugin/coll_connect.h"
#include "plugin/engine_options.h"
#include "plugin/group_links.h"
#include "plugin/memory.h"
#include "plugin/net.h"

namespace thinwire::plugin {

CollListener::CollListener(Plugin& plugin, int device, std::uint64_t comm_id)
    : Object(ObjectKind::coll_listen), plugin_(plugin), device_(device), comm_id_(comm_id) {
  plugin_.add_source(this, [this] { return counters(); });
}

CollListener::~CollListener() { plugin_.remove_source(this); }

std::unique_ptr<CollListener> CollListener::create(Plugin& plugin, int device,
                                                   std::uint64_t comm_id) {
  std::unique_ptr<CollListener> listener(new CollListener(plugin, device, comm_id));
  if (const Status listening = listener->listen(); !listening.ok()) {
    THINWIRE_WARN(plugin.log(), "cannot listen on device %d: %s (error %d); all ranks will refuse",
                  device, listening.text(), listening.native());
  }
  return listener;
}

Status CollListener::listen() {
  auto endpoint = plugin_.open(device_);
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(endpoint).value();
  auto listener = endpoint_->listen();
  if (!listener.ok()) return listener.status();
  listener_ = std::move(listener).value();
  handle_ = listener_->handle();
  return {};
}

transports::Counters CollListener::counters() {
  return endpoint_ ? endpoint_->counters() : transports::Counters{};
}

std::vector<std::size_t> window_pieces(int ranks, std::size_t bytes_per_rank, std::size_t offset,
                                       std::size_t bytes, std::size_t element_bytes) {
  std::vector<std::size_t> pieces;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const std::size_t begin = std::max(offset, rank * bytes_per_rank);
    const std::size_t end = std::min(offset + bytes, (rank + 1) * bytes_per_rank);
    pieces.push_back(end > begin ? (end - begin) / element_bytes : 0);
  }
  return pieces;
}

CollComm::CollComm(Plugin& plugin, std::unique_ptr<transports::Endpoint> endpoint)
    : Object(ObjectKind::coll_comm),
      plugin_(plugin),
      endpoint_(std::make_unique<JointEndpoint>(std::move(endpoint))),
      requests_(kMaxCollRequests) {}

CollComm::~CollComm() {
  plugin_.workers().remove(this);
  log_feedback();
  plugin_.remove_source(this);
}

namespace {

std::string poisoned_ranks(const std::vector<transports::Handle>& handles) {
  std::string ranks;
  for (std::size_t rank = 0; rank < handles.size(); ++rank) {
    if (is_poison(handles[rank])) ranks += " " + std::to_string(rank);
  }
  return ranks;
}

}  // namespace

Result<std::unique_ptr<CollComm>> CollComm::connect(Plugin& plugin, CollListener& listener,
                                                    std::vector<transports::Handle> handles,
                                                    int rank) {
  if (const std::string ranks = poisoned_ranks(handles); !ranks.empty()) {
    THINWIRE_WARN(plugin.log(), "CollNet connect: these ranks could not listen:%s", ranks.c_str());
    return Status(Code::peer_lost, "CollNet connect: a rank could not listen");
  }
  // What is refused below without a vote is known to this rank alone.
  const auto alone = [&plugin](const Status& status) {
    THINWIRE_WARN(plugin.log(), "CollNet connect: %s (error %d)", status.text(), status.native());
    return status;
  };
  auto endpoint = plugin.open(listener.device());
  if (!endpoint.ok()) return alone(endpoint.status());
  std::unique_ptr<CollComm> comm(new CollComm(plugin, std::move(endpoint).value()));
  const int ranks = static_cast<int>(handles.size());
  collectives::EngineOptions options = engine_options(plugin.config());
  options.costs = plugin.costs();
  std::size_t near_links = 0;
  {
    GroupLinks links(*comm->endpoint_, *listener.listener(), std::move(handles), rank,
                     plugin.clock(), plugin.log());
    const Verdict verdict = connect_group(links, *comm->endpoint_, plugin, options);
    if (verdict.code != Code::ok) {
      THINWIRE_WARN(plugin.log(), "CollNet connect refused on all %d ranks: %s", ranks,
                    verdict.text.c_str());
      return Status(verdict.code, "CollNet connect refused");
    }
    near_links = links.replaced();
    comm->links_ = links.take_links();
  }
  comm->group_ = {rank, ranks, comm->endpoint_.get(), {}};
  for (const auto& link : comm->links_) comm->group_.connections.push_back(link.get());
  options.numa_node = plugin.devices().find(listener.device())->nic.numa_node;
  auto engine = collectives::Engine::create(options, comm->group_, plugin.log());
  if (!engine.ok()) return alone(engine.status());
  comm->engine_ = std::move(engine).value();
  plugin.add_source(comm.get(), [raw = comm.get()] { return raw->counters(); });
  plugin.workers().add(
      comm.get(), [raw = comm.get()] { return raw->progress(); }, listener.device());
  THINWIRE_INFO(plugin.log(),
                "CollNet group of %d ranks on %d hosts connected, this is rank %d; %zu links "
                "through shared memory",
                ranks, options.layout.hosts(), rank, near_links);
  return comm;
}

// `fill` turns a fresh request into the Call to run.
template <class Fill>
Result<CollRequest*> CollComm::start(Fill fill) {
  CollRequest* request = nullptr;
  {
    const std::lock_guard lock(mutex_);
    request = requests_.try_take();
    if (request == nullptr) {
      if (const Status polled = poll(); polled.failed()) return polled;
      return Status::would_block();
    }
    const collectives::Call call = fill(*request);
    auto running = engine_->submit(call);
    Status status = running.status();
    if (status.ok()) status = submit_check(*request, call);
    if (!status.ok()) {
      give_back(request);
      (void)poll().ok();
      return status;
    }
    request->comm = this;
    request->running = running.value();
  }
  plugin_.workers().kick();
  return request;
}

void CollComm::watch(Profiler& profiler, std::uint64_t comm_id) {
  identity_.emplace(profiler, comm_id);
}

Result<CollRequest*> CollComm::all_reduce(collectives::Call call) {
  if (identity_) {
    call.tensor = identity_->identify(call);
  } else if (plugin_.config().ef_identity == IdentityChoice::buffer) {
    call.tensor = buffer_identity(call);
  }
  if (const Status refused = refuse_unidentified(call); !refused.ok()) return refused;
  const auto started = start([&](CollRequest&) { return call; });
  if (identity_ && started.ok()) identity_->accept(call);
  return started;
}

Result<CollRequest*> CollComm::all_gather(collectives::Call call, std::span<const Part> parts) {
  return start([&](CollRequest& request) {
    call.output = parts[0].address;
    if (parts.size() > 1) {
      std::size_t bytes = 0;
      for (const Part& part : parts) bytes += part.bytes;
      request.window.resize(bytes);
      request.scatter_to.assign(parts.begin(), parts.end());
      call.output = request.window.data();
    }
    return call;
  });
}

Result<CollRequest*> CollComm::reduce_scatter(collectives::Call call, std::span<const Part> parts) {
  return start([&](CollRequest& request) {
    call.input = parts[0].address;
    if (parts.size() > 1) {
      request.window.clear();
      for (const Part& part : parts) {
        const auto* bytes = static_cast<const std::byte*>(part.address);
        request.window.insert(request.window.end(), bytes, bytes + part.bytes);
      }
      call.input = request.window.data();
    }
    return call;
  });
}

Result<bool> CollComm::test(CollRequest* request, std::size_t* bytes) {
  const std::lock_guard lock(mutex_);
  auto done = test_parts(*request, bytes);
  if (done.ok() && !done.value()) {
    // The failure, if any, is the request's to report.
    (void)poll().ok();
    done = test_parts(*request, bytes);
  }
  if (done.ok() && !done.value()) return false;
  std::size_t offset = 0;
  for (const Part& part : request->scatter_to) {
    if (done.ok()) std::memcpy(part.address, request->window.data() + offset, part.bytes);
    offset += part.bytes;
  }
  if (done.ok() && request->check) {
    THINWIRE_INFO(plugin_.log(), "%s", request->check->report().c_str());
  }
  give_back(request);
  return done;
}

// True once the collective and its check, if any, are done; either is asked until it is.
Result<bool> CollComm::test_parts(CollRequest& request, std::size_t* bytes) {
  if (request.running != nullptr) {
    auto done = engine_->test(request.running, &request.bytes);
    if (!done.ok() || !done.value()) return done;
    request.running = nullptr;
  }
  if (request.check && request.check->running != nullptr) {
    auto done = engine_->test(request.check->running, nullptr);
    if (!done.ok() || !done.value()) return done;
    request.check->running = nullptr;
  }
  if (bytes != nullptr) *bytes = request.bytes;
  return true;
}

// The engine has a request for every check: kMaxCollRequests of them.
Status CollComm::submit_check(CollRequest& request, const collectives::Call& call) {
  const bool wanted = plugin_.config().compress_check != 0 &&
                      call.collective == collectives::Collective::all_reduce &&
                      engine_->codecs_for(call).lossy();
  if (!wanted) return {};
  request.check = std::make_unique<CompressCheck>(call);
  auto running = engine_->submit(request.check->exact_call());
  if (running.ok()) request.check->running = running.value();
  return running.status();
}

// Exact in place of top-k would be a silent loss of speed for good, top-k without a residual one of
// accuracy. All ranks are configured alike, so all refuse.
Status CollComm::refuse_unidentified(const collectives::Call& call) {
  const bool off = plugin_.config().ef == FeedbackChoice::off;
  const bool unknown = !call.tensor && (!identity_ || !identity_->is_possible());
  if ((!off && !unknown) || plugin_.config().topk_without_ef != 0) return {};
  if (!engine_->codecs_for(call).sparse()) return {};
  if (!said_unidentified_) {
    THINWIRE_WARN(
        plugin_.log(),
        "THINWIRE_COMPRESS=%s: topk needs error feedback, but %s; THINWIRE_TOPK_WITHOUT_EF=1 "
        "goes without, at the cost of accuracy",
        plugin_.config().compress.c_str(),
        off ? "THINWIRE_EF=off switches it off"
            : "NCCL has not loaded this library as its profiler, so nobody says which "
              "tensor a call carries. Use NCCL 2.27.3 or newer with "
              "NCCL_PROFILER_PLUGIN=thinwire and no other profiler; programs that call "
              "the library directly set THINWIRE_EF_IDENTITY=buffer");
  }
  said_unidentified_ = true;
  return {Code::invalid_config, "topk without error feedback"};
}

void CollComm::log_feedback() const {
  if (!engine_) return;
  const compression::ResidualStats stats = engine_->feedback();
  if (stats.hits + stats.misses == 0) return;
  THINWIRE_INFO(
      plugin_.log(),
      "error feedback of rank %d: %llu tensors, %llu bytes; %llu calls with a residual, "
      "%llu without, %llu resets, %llu given up; norm %.3e",
      rank(), static_cast<unsigned long long>(stats.tensors),
      static_cast<unsigned long long>(stats.bytes), static_cast<unsigned long long>(stats.hits),
      static_cast<unsigned long long>(stats.misses), static_cast<unsigned long long>(stats.resets),
      static_cast<unsigned long long>(stats.evictions), stats.norm);
}

// A failed communicator lets go of its links at once: in a ring that is how the ranks that are no
// neighbours of the dead one learn of it.
Status CollComm::poll() {
  const Status status = engine_->poll();
  if (status.failed()) links_.clear();
  return status;
}

void CollComm::give_back(CollRequest* request) {
  request->scatter_to.clear();
  request->check.reset();
  request->window.clear();
  request->comm = nullptr;
  requests_.give_back(request);
}

Result<void*> CollComm::register_memory(void* data, std::size_t bytes, int kind) {
  const std::lock_guard lock(mutex_);
  return plugin::register_memory(*endpoint_, data, bytes, kind, tw_nccl_ptr_host, plugin_.log());
}

Status CollComm::deregister_memory(void* mhandle) {
  const std::lock_guard lock(mutex_);
  return plugin::deregister_memory(*endpoint_, mhandle);
}

bool CollComm::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return true;
  (void)poll().ok();  // sticky: every later call reports it
  return !engine_->idle();
}

transports::Counters CollComm::counters() {
  const std::lock_guard lock(mutex_);
  return endpoint_->counters();
}

}  // namespace thinwire::plugin
