// How the fake moves data.
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/fakes/fake_objects.h"

namespace thinwire::fakes {

FakeNetwork::FakeNetwork(const std::vector<FakeHcaOptions>& hcas) {
  for (const FakeHcaOptions& options : hcas) {
    auto hca = std::make_unique<Hca>();
    hca->options = options;
    std::strncpy(hca->device.name, options.name.c_str(), sizeof hca->device.name - 1);
    hcas_.push_back(std::move(hca));
  }
}

FakeNetwork::~FakeNetwork() = default;

FakeNetwork::Hca* FakeNetwork::find(const ibv_device* device) {
  for (const auto& hca : hcas_) {
    if (&hca->device == device) return hca.get();
  }
  return nullptr;
}

void FakeNetwork::fail_send_after(int count, Loss loss, int times) {
  const std::lock_guard lock(mutex_);
  fail_after_ = count;
  fail_times_ = times;
  loss_ = loss;
}

FakeNetwork::Hca* FakeNetwork::find(const std::string& name) const {
  for (const auto& hca : hcas_) {
    if (hca->options.name == name) return hca.get();
  }
  return nullptr;
}

void FakeNetwork::set_port_after(int count, const std::string& hca, bool up) {
  const std::lock_guard lock(mutex_);
  port_after_ = count;
  port_name_ = hca;
  port_up_ = up;
}

void FakeNetwork::set_wire(const std::string& hca, bool works) {
  const std::lock_guard lock(mutex_);
  find(hca)->wire = works;
}

void FakeNetwork::kill(const std::string& hca) {
  const std::lock_guard lock(mutex_);
  find(hca)->dead = true;
  for (const auto& [number, qp] : queue_pairs_) {
    if (qp->context->options->name == hca) fail_queue_pair(*qp, IBV_EVENT_COMM_EST);
  }
  for (FakeContext* context : contexts_) {
    if (context->options->name == hca) raise_locked(*context, IBV_EVENT_DEVICE_FATAL);
  }
}

std::uint64_t FakeNetwork::bytes_written(const std::string& hca) const {
  const std::lock_guard lock(mutex_);
  return find(hca)->written;
}

std::uint64_t FakeNetwork::bytes_written_telling(const std::string& hca) const {
  const std::lock_guard lock(mutex_);
  return find(hca)->written_telling;
}

std::set<std::uint32_t> FakeNetwork::extensions_in_use(const std::string& hca) const {
  const std::lock_guard lock(mutex_);
  std::set<std::uint32_t> all;
  for (const auto& [number, qp] : queue_pairs_) {
    const bool connected = qp->native.state == IBV_QPS_RTS && qp->context->options->name == hca;
    if (connected) all.insert(qp->extensions);
  }
  return all;
}

void FakeNetwork::set_port(const std::string& hca, bool up) {
  const std::lock_guard lock(mutex_);
  set_port_locked(hca, up);
}

void FakeNetwork::set_port_locked(const std::string& hca, bool up) {
  find(hca)->up = up;
  for (FakeContext* context : contexts_) {
    if (context->options->name != hca) continue;
    raise_locked(*context, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }
}

void FakeNetwork::raise(const std::string& hca, ibv_event_type event) {
  const std::lock_guard lock(mutex_);
  for (FakeContext* context : contexts_) {
    if (context->options->name == hca) raise_locked(*context, event);
  }
}

void FakeNetwork::raise_locked(FakeContext& context, ibv_event_type event) {
  context.events.push_back(event);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(context.native.async_fd, &one, sizeof one);
}

int FakeNetwork::live_objects() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(live_.size());
}

FakeQp* FakeNetwork::find_qp(std::uint32_t number) {
  const auto at = queue_pairs_.find(number);
  return at == queue_pairs_.end() ? nullptr : at->second;
}

// Null: it is gone, or answers another queue pair, or counts packets from elsewhere.
FakeQp* FakeNetwork::peer_of(const FakeQp& qp) {
  FakeQp* peer = find_qp(qp.attributes.dest_qp_num);
  if (peer == nullptr || peer->native.state == IBV_QPS_ERR) return nullptr;
  if (peer->native.state < IBV_QPS_RTR) return peer;
  const bool fits = peer->attributes.dest_qp_num == qp.native.qp_num &&
                    peer->attributes.rq_psn == qp.attributes.sq_psn &&
                    peer->attributes.path_mtu == qp.attributes.path_mtu;
  return fits ? peer : nullptr;
}

const FakeMr* FakeNetwork::memory(std::uint32_t key, std::uint64_t address, std::size_t bytes,
                                  int access) {
  const auto at = memories_.find(key);
  if (at == memories_.end()) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(at->second->native.addr);
  const bool inside = address >= begin && address + bytes <= begin + at->second->native.length;
  return inside && (at->second->access & access) == access ? at->second : nullptr;
}

bool FakeNetwork::is_to_fail(Loss* loss) {
  if (fail_after_ < 0 || fail_after_-- > 0) return false;
  *loss = loss_;
  if (--fail_times_ > 0) fail_after_ = 0;
  return true;
}

void FakeNetwork::push(FakeCq& cq, const ibv_wc& completion, FakeQp& qp, bool is_send,
                       std::uint64_t index) {
  if (cq.overflowed) return;
  if (static_cast<int>(cq.entries.size()) >= cq.native.cqe) {
    cq.overflowed = true;
    raise_locked(*qp.context, IBV_EVENT_CQ_ERR);
    return;
  }
  cq.entries.push_back({completion, qp.native.qp_num, is_send, index});
  cq.entries.back().completion.qp_num = qp.native.qp_num;
  if (!cq.armed || cq.channel == nullptr) return;
  cq.armed = false;
  cq.channel->events.push_back(&cq);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(cq.channel->native.fd, &one, sizeof one);
}

void FakeNetwork::complete_send(FakeQp& qp, ibv_wc_status status) {
  const FakeSend send = std::move(qp.sends.front());
  qp.sends.pop_front();
  const bool tells = status != IBV_WC_SUCCESS || (send.request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (!tells) return;
  ibv_wc completion{};
  completion.wr_id = send.request.wr_id;
  completion.status = status;
  completion.opcode = send.request.opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
  push(*qp.send_cq, completion, qp, true, send.index);
}

void FakeNetwork::complete_receive(FakeQp& qp, ibv_wc_status status, const ibv_wc& what) {
  ibv_wc completion = what;
  completion.wr_id = qp.receives.front().id;
  completion.status = status;
  qp.receives.pop_front();
  push(*qp.receive_cq, completion, qp, false, qp.receives_used++);
}

// Whatever is posted comes back.
void FakeNetwork::fail_queue_pair(FakeQp& qp, ibv_event_type event) {
  if (qp.native.state == IBV_QPS_ERR) return;
  qp.native.state = IBV_QPS_ERR;
  while (!qp.sends.empty()) complete_send(qp, IBV_WC_WR_FLUSH_ERR);
  while (!qp.receives.empty()) complete_receive(qp, IBV_WC_WR_FLUSH_ERR, {});
  if (event != IBV_EVENT_COMM_EST) raise_locked(*qp.context, event);
}

void FakeNetwork::run(FakeQp& qp) {
  if (qp.native.state == IBV_QPS_ERR) {
    while (!qp.sends.empty()) complete_send(qp, IBV_WC_WR_FLUSH_ERR);
    return;
  }
  while (qp.native.state == IBV_QPS_RTS && !qp.sends.empty() && execute(qp)) {
  }
}

// What the sender's own device finds wrong.
ibv_wc_status FakeNetwork::gather(const FakeQp& qp, std::vector<std::byte>& bytes) {
  const FakeSend& send = qp.sends.front();
  bytes = send.inlined;
  for (const ibv_sge& each : send.memory) {
    if (memory(each.lkey, each.addr, each.length, 0) == nullptr) return IBV_WC_LOC_PROT_ERR;
    const std::byte* from = at(each.lkey, each.addr);
    bytes.insert(bytes.end(), from, from + each.length);
  }
  return bytes.size() > qp.context->options->max_message_bytes ? IBV_WC_LOC_LEN_ERR
                                                               : IBV_WC_SUCCESS;
}

// What the receiver's device finds wrong, and where the bytes go.
ibv_wc_status FakeNetwork::place(const FakeSend& send, FakeQp& peer, std::size_t bytes,
                                 std::byte** target) {
  if (bytes == 0) return IBV_WC_SUCCESS;
  if (send.request.opcode != IBV_WR_SEND) {
    const auto& remote = send.request.wr.rdma;
    if (memory(remote.rkey, remote.remote_addr, bytes, IBV_ACCESS_REMOTE_WRITE) != nullptr) {
      *target = at(remote.rkey, remote.remote_addr);
      return IBV_WC_SUCCESS;
    }
    fail_queue_pair(peer, IBV_EVENT_QP_ACCESS_ERR);
    return IBV_WC_REM_ACCESS_ERR;
  }
  const std::vector<ibv_sge> into = peer.receives.front().memory;
  const bool fits = !into.empty() && into[0].length >= bytes;
  if (fits && memory(into[0].lkey, into[0].addr, bytes, IBV_ACCESS_LOCAL_WRITE) != nullptr) {
    *target = at(into[0].lkey, into[0].addr);
    return IBV_WC_SUCCESS;
  }
  complete_receive(peer, fits ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR, {});
  fail_queue_pair(peer, IBV_EVENT_QP_FATAL);
  return fits ? IBV_WC_REM_OP_ERR : IBV_WC_REM_INV_REQ_ERR;
}

std::byte* FakeNetwork::at(std::uint32_t key, std::uint64_t address) const {
  return reinterpret_cast<std::byte*>(address) + memories_.at(key)->offset;
}

// What a read gets, from memory and through a queue pair that both allow it.
ibv_wc_status FakeNetwork::read(const FakeSend& send, FakeQp& peer) {
  const auto& remote = send.request.wr.rdma;
  const std::size_t bytes = send.bytes();
  const bool allowed = (peer.attributes.qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0 &&
                       memory(remote.rkey, remote.remote_addr, bytes, IBV_ACCESS_REMOTE_READ);
  if (!allowed) return IBV_WC_REM_ACCESS_ERR;
  const std::byte* from = at(remote.rkey, remote.remote_addr);
  for (const ibv_sge& each : send.memory) {
    if (memory(each.lkey, each.addr, each.length, IBV_ACCESS_LOCAL_WRITE) == nullptr) {
      return IBV_WC_LOC_PROT_ERR;
    }
    std::memcpy(at(each.lkey, each.addr), from, each.length);
    from += each.length;
  }
  ++reads_;
  return IBV_WC_SUCCESS;
}

bool FakeNetwork::execute(FakeQp& qp) {
  const auto end_with = [&](ibv_wc_status status) {
    complete_send(qp, status);
    if (status != IBV_WC_SUCCESS) fail_queue_pair(qp, IBV_EVENT_COMM_EST);
    return true;
  };
  std::vector<std::byte> bytes;
  if (const auto status = gather(qp, bytes); status != IBV_WC_SUCCESS) return end_with(status);
  FakeQp* peer = peer_of(qp);
  if (peer == nullptr || !qp.context->works() || !peer->context->works()) {
    return end_with(IBV_WC_RETRY_EXC_ERR);
  }
  const FakeSend& send = qp.sends.front();
  const bool reads = send.request.opcode == IBV_WR_RDMA_READ;
  const bool takes_receive = !reads && send.request.opcode != IBV_WR_RDMA_WRITE;
  // Not ready: tried again for ever.
  if (peer->native.state < IBV_QPS_RTR || (takes_receive && peer->receives.empty())) return false;
  Loss loss{};
  const bool fails = is_to_fail(&loss);
  if (fails && loss == Loss::packet) return end_with(IBV_WC_RETRY_EXC_ERR);
  if (reads) return end_with(read(send, *peer));
  std::byte* target = nullptr;
  const ibv_wc_status placed = place(send, *peer, bytes.size(), &target);
  if (placed != IBV_WC_SUCCESS) return end_with(placed);
  if (target != nullptr) std::memcpy(target, bytes.data(), bytes.size());
  if (send.request.opcode != IBV_WR_SEND) {
    qp.context->hca->written += bytes.size();
    if (takes_receive) qp.context->hca->written_telling += bytes.size();
  }
  if (takes_receive) {
    ibv_wc completion{};
    completion.opcode =
        send.request.opcode == IBV_WR_SEND ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    completion.byte_len = static_cast<std::uint32_t>(bytes.size());
    completion.imm_data = send.request.imm_data;
    complete_receive(*peer, IBV_WC_SUCCESS, completion);
  }
  return end_with(fails ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
}

}  // namespace thinwire::fakes
