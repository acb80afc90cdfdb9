// The fake's devices, memory and completion queues; fake_queue_pairs.cc has the rest.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/fakes/fake_objects.h"

namespace thinwire::fakes {

namespace {

constexpr int kMaxCqe = 1 << 16;

int event_descriptor() { return ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE); }

// Takes one unit, as a blocking or non-blocking read of the descriptor does.
bool take_event(int fd) {
  std::uint64_t one = 0;
  return ::read(fd, &one, sizeof one) == sizeof one;
}

}  // namespace

ibv_device** FakeVerbs::get_device_list(int* count) const {
  const std::lock_guard lock(n_.mutex_);
  *count = static_cast<int>(n_.hcas_.size());
  auto** list = new ibv_device*[n_.hcas_.size() + 1]();
  for (std::size_t i = 0; i < n_.hcas_.size(); ++i) list[i] = &n_.hcas_[i]->device;
  n_.live_.insert(list);
  return list;
}

void FakeVerbs::free_device_list(ibv_device** list) const {
  const std::lock_guard lock(n_.mutex_);
  n_.live_.erase(list);
  delete[] list;
}

ibv_context* FakeVerbs::open_device(ibv_device* device) const {
  const std::lock_guard lock(n_.mutex_);
  FakeNetwork::Hca* hca = n_.find(device);
  auto* context = new FakeContext;
  context->native.device = device;
  context->native.async_fd = event_descriptor();
  context->network = &n_;
  context->options = &hca->options;
  context->hca = hca;
  n_.contexts_.insert(context);
  n_.live_.insert(context);
  return &context->native;
}

int FakeVerbs::close_device(ibv_context* context) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeContext>(context);
  if (ours->children > 0) return EBUSY;
  ::close(context->async_fd);
  n_.contexts_.erase(ours);
  n_.live_.erase(ours);
  delete ours;
  return 0;
}

int FakeVerbs::query_device(ibv_context*, ibv_device_attr* attributes) const {
  *attributes = {};
  attributes->phys_port_cnt = 1;
  attributes->max_cqe = kMaxCqe;
  attributes->max_qp_rd_atom = 128;
  attributes->sys_image_guid = htobe64(0x1122334455667788u);
  return 0;
}

int FakeVerbs::query_port(ibv_context* context, std::uint8_t port,
                          ibv_port_attr* attributes) const {
  if (port != 1) return EINVAL;
  const auto* ours = as<FakeContext>(context);
  attributes->state = ours->hca->up && !ours->hca->dead ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes->max_mtu = attributes->active_mtu = ours->options->mtu;
  attributes->max_msg_sz = ours->options->max_message_bytes;
  attributes->link_layer = static_cast<std::uint8_t>(ours->options->link_layer);
  attributes->lid = ours->options->link_layer == IBV_LINK_LAYER_ETHERNET ? 0 : 7;
  attributes->active_speed = ours->options->speed;
  attributes->active_width = ours->options->width;
  return 0;
}

ssize_t FakeVerbs::query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                   std::size_t count) const {
  const FakeHcaOptions& options = *as<FakeContext>(context)->options;
  const bool ethernet = options.link_layer == IBV_LINK_LAYER_ETHERNET;
  const std::array<std::string, 2> addresses{"fe80::1", options.address};
  const std::size_t filled = std::min<std::size_t>(count, ethernet ? 2 : 1);
  for (std::size_t i = 0; i < filled; ++i) {
    entries[i] = {};
    ::inet_pton(AF_INET6, addresses[i].c_str(), entries[i].gid.raw);
    entries[i].gid_index = static_cast<std::uint32_t>(i);
    entries[i].port_num = 1;
    entries[i].gid_type = ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  }
  return static_cast<ssize_t>(filled);
}

int FakeVerbs::get_async_event(ibv_context* context, ibv_async_event* event) const {
  if (!take_event(context->async_fd)) return -1;
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeContext>(context);
  *event = {};
  event->event_type = ours->events.front();
  event->element.port_num = 1;  // of events that are a port's
  ours->events.pop_front();
  return 0;
}

void FakeVerbs::ack_async_event(ibv_async_event*) const {}

ibv_pd* FakeVerbs::alloc_pd(ibv_context* context) const {
  const std::lock_guard lock(n_.mutex_);
  auto* pd = new FakePd;
  pd->native.context = context;
  ++as<FakeContext>(context)->children;
  n_.live_.insert(pd);
  return &pd->native;
}

int FakeVerbs::dealloc_pd(ibv_pd* pd) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakePd>(pd);
  if (ours->children > 0) return EBUSY;
  --as<FakeContext>(pd->context)->children;
  n_.live_.erase(ours);
  delete ours;
  return 0;
}

ibv_mr* FakeVerbs::make_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const {
  const bool writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (bytes == 0 || ((access & IBV_ACCESS_REMOTE_WRITE) != 0 && !writable)) {
    errno = EINVAL;
    return nullptr;
  }
  const std::lock_guard lock(n_.mutex_);
  if (as<FakeContext>(pd->context)->hca->dead) {
    errno = EIO;
    return nullptr;
  }
  auto* mr = new FakeMr;
  mr->native.context = pd->context;
  mr->native.pd = pd;
  mr->native.addr = address;
  mr->native.length = bytes;
  mr->native.lkey = mr->native.rkey = n_.next_number_++;
  mr->access = access;
  ++as<FakePd>(pd)->children;
  ++n_.registrations_;
  n_.access_given_ |= access;
  n_.memories_[mr->native.lkey] = mr;
  n_.live_.insert(mr);
  return &mr->native;
}

ibv_mr* FakeVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const {
  return make_mr(pd, address, bytes, access);
}

ibv_mr* FakeVerbs::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t bytes, std::uint64_t iova,
                                 int fd, int access) const {
  if (!as<FakeContext>(pd->context)->options->dmabuf || fd < 0) {
    errno = fd < 0 && as<FakeContext>(pd->context)->options->dmabuf ? EBADF : EOPNOTSUPP;
    return nullptr;
  }
  ibv_mr* mr = make_mr(pd, reinterpret_cast<void*>(iova), bytes, access);
  if (mr != nullptr) as<FakeMr>(mr)->offset = n_.dmabuf_offset_;
  return mr;
}

int FakeVerbs::dereg_mr(ibv_mr* mr) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeMr>(mr);
  --as<FakePd>(mr->pd)->children;
  n_.memories_.erase(mr->lkey);
  n_.live_.erase(ours);
  delete ours;
  return 0;
}

ibv_comp_channel* FakeVerbs::create_comp_channel(ibv_context* context) const {
  const std::lock_guard lock(n_.mutex_);
  auto* channel = new FakeChannel;
  channel->native.context = context;
  channel->native.fd = event_descriptor();
  ++as<FakeContext>(context)->children;
  n_.live_.insert(channel);
  return &channel->native;
}

int FakeVerbs::destroy_comp_channel(ibv_comp_channel* channel) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeChannel>(channel);
  if (ours->children > 0) return EBUSY;
  --as<FakeContext>(channel->context)->children;
  ::close(channel->fd);
  n_.live_.erase(ours);
  delete ours;
  return 0;
}

ibv_cq* FakeVerbs::create_cq(ibv_context* context, int entries, void* user,
                             ibv_comp_channel* channel) const {
  if (entries < 1 || entries > kMaxCqe) {
    errno = EINVAL;
    return nullptr;
  }
  const std::lock_guard lock(n_.mutex_);
  auto* cq = new FakeCq;
  cq->native.context = context;
  cq->native.cq_context = user;
  cq->native.channel = channel;
  cq->native.cqe = entries;
  cq->channel = as<FakeChannel>(channel);
  if (channel != nullptr) ++cq->channel->children;
  ++as<FakeContext>(context)->children;
  n_.live_.insert(cq);
  return &cq->native;
}

int FakeVerbs::destroy_cq(ibv_cq* cq) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeCq>(cq);
  // The library would wait for ever for what was not acknowledged.
  if (ours->children > 0 || ours->unacknowledged > 0) return EBUSY;
  if (ours->channel != nullptr) {
    --ours->channel->children;
    std::erase(ours->channel->events, ours);
  }
  --as<FakeContext>(cq->context)->children;
  n_.live_.erase(ours);
  delete ours;
  return 0;
}

int FakeVerbs::req_notify_cq(ibv_cq* cq) const {
  const std::lock_guard lock(n_.mutex_);
  as<FakeCq>(cq)->armed = true;
  return 0;
}

int FakeVerbs::get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) const {
  if (!take_event(channel->fd)) return -1;
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeChannel>(channel);
  if (ours->events.empty()) return -1;  // its queue was destroyed meanwhile
  FakeCq* which = ours->events.front();
  ours->events.pop_front();
  ++which->unacknowledged;
  *cq = &which->native;
  *user = which->native.cq_context;
  return 0;
}

void FakeVerbs::ack_cq_events(ibv_cq* cq, unsigned count) const {
  const std::lock_guard lock(n_.mutex_);
  as<FakeCq>(cq)->unacknowledged -= count;
}

int FakeVerbs::poll_cq(ibv_cq* cq, int count, ibv_wc* completions) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeCq>(cq);
  if (ours->overflowed) return -1;
  int taken = 0;
  for (; taken < count && !ours->entries.empty(); ++taken) {
    const FakeCq::Entry& entry = ours->entries.front();
    completions[taken] = entry.completion;
    if (FakeQp* qp = n_.find_qp(entry.qp)) {
      (entry.is_send ? qp->sends_retired : qp->receives_retired) = entry.index + 1;
    }
    ours->entries.pop_front();
  }
  return taken;
}

}  // namespace thinwire::fakes
