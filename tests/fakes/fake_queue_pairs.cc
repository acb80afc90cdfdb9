// The fake's queue pairs: their states, and what may be posted when.
#include <errno.h>

#include <algorithm>

#include "tests/fakes/fake_objects.h"

namespace thinwire::fakes {

namespace {

constexpr std::uint32_t kVendor = 0x15b3;
// What the specification requires for a reliable connection's way up.
constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kToReceive = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToSend = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

bool may_receive(const FakeQp& qp, const ibv_qp_attr& wanted) {
  const FakeHcaOptions& options = *qp.context->options;
  const bool ethernet = options.link_layer == IBV_LINK_LAYER_ETHERNET;
  if (ethernet && wanted.ah_attr.is_global == 0) return false;
  if (!ethernet && wanted.ah_attr.is_global == 0 && wanted.ah_attr.dlid == 0) return false;
  return wanted.path_mtu <= options.mtu && wanted.max_dest_rd_atomic <= 16;
}

int change_state(FakeQp& qp, const ibv_qp_attr& wanted, int mask) {
  const ibv_qp_state from = qp.native.state;
  switch (wanted.qp_state) {
    case IBV_QPS_INIT:
      if (from != IBV_QPS_RESET || mask != kToInit || wanted.port_num != 1) return EINVAL;
      qp.attributes.qp_access_flags = wanted.qp_access_flags;
      break;
    case IBV_QPS_RTR:
      if (from != IBV_QPS_INIT || mask != kToReceive || !may_receive(qp, wanted)) return EINVAL;
      qp.attributes.dest_qp_num = wanted.dest_qp_num;
      qp.attributes.rq_psn = wanted.rq_psn;
      qp.attributes.path_mtu = wanted.path_mtu;
      if (!qp.agreed) qp.extensions = 0;
      break;
    case IBV_QPS_RTS:
      if (from != IBV_QPS_RTR || mask != kToSend || wanted.retry_cnt > 7) return EINVAL;
      qp.attributes.sq_psn = wanted.sq_psn;
      break;
    default:
      return EINVAL;
  }
  qp.native.state = wanted.qp_state;
  return 0;
}

void forget_entries(FakeCq& cq, std::uint32_t number) {
  std::erase_if(cq.entries, [&](const FakeCq::Entry& entry) { return entry.qp == number; });
}

int copy_request(const FakeQp& qp, const ibv_send_wr& request, FakeSend& send) {
  if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > qp.cap.max_send_sge) {
    return EINVAL;
  }
  send.request = request;
  send.memory.assign(request.sg_list, request.sg_list + request.num_sge);
  send.index = qp.sends_posted;
  if ((request.send_flags & IBV_SEND_INLINE) == 0) return 0;
  if (send.bytes() > qp.cap.max_inline_data) return ENOMEM;
  for (const ibv_sge& each : send.memory) {
    const auto* from = reinterpret_cast<const std::byte*>(each.addr);
    send.inlined.insert(send.inlined.end(), from, from + each.length);
  }
  send.memory.clear();
  return 0;
}

}  // namespace

ibv_qp* FakeVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) const {
  const std::lock_guard lock(n_.mutex_);
  auto* context = as<FakeContext>(pd->context);
  if (context->hca->dead) {
    errno = EIO;
    return nullptr;
  }
  if (attributes->qp_type != IBV_QPT_RC ||
      attributes->cap.max_inline_data > context->options->max_inline_bytes) {
    errno = EINVAL;
    return nullptr;
  }
  auto* qp = new FakeQp;
  qp->native.context = pd->context;
  qp->native.pd = pd;
  qp->native.qp_num = n_.next_number_++;
  qp->native.state = IBV_QPS_RESET;
  qp->context = context;
  qp->pd = as<FakePd>(pd);
  qp->send_cq = as<FakeCq>(attributes->send_cq);
  qp->receive_cq = as<FakeCq>(attributes->recv_cq);
  qp->cap = attributes->cap;
  qp->extensions = context->options->extensions;
  ++qp->pd->children;
  ++qp->send_cq->children;
  ++qp->receive_cq->children;
  n_.queue_pairs_[qp->native.qp_num] = qp;
  n_.live_.insert(qp);
  return &qp->native;
}

int FakeVerbs::modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeQp>(qp);
  if (attributes->qp_state == IBV_QPS_ERR) {
    n_.fail_queue_pair(*ours, IBV_EVENT_COMM_EST);
    return 0;
  }
  if (ours->context->hca->dead) return EIO;
  const int error = change_state(*ours, *attributes, mask);
  // Whoever sent to it already goes on.
  if (error == 0) {
    for (const auto& [number, other] : n_.queue_pairs_) n_.run(*other);
  }
  return error;
}

int FakeVerbs::destroy_qp(ibv_qp* qp) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeQp>(qp);
  forget_entries(*ours->send_cq, qp->qp_num);
  forget_entries(*ours->receive_cq, qp->qp_num);
  --ours->pd->children;
  --ours->send_cq->children;
  --ours->receive_cq->children;
  n_.queue_pairs_.erase(qp->qp_num);
  n_.live_.erase(ours);
  delete ours;
  for (const auto& [number, other] : n_.queue_pairs_) n_.run(*other);
  return 0;
}

int FakeVerbs::query_ece(ibv_qp* qp, ibv_ece* ece) const {
  const std::lock_guard lock(n_.mutex_);
  const auto* ours = as<FakeQp>(qp);
  if (ours->context->options->extensions == 0) return EOPNOTSUPP;
  *ece = {.vendor_id = kVendor, .options = ours->extensions, .comp_mask = 0};
  return 0;
}

int FakeVerbs::set_ece(ibv_qp* qp, ibv_ece* ece) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeQp>(qp);
  if (ours->context->options->extensions == 0) return EOPNOTSUPP;
  if (qp->state != IBV_QPS_INIT || ece->vendor_id != kVendor) return EINVAL;
  ours->extensions &= ece->options;
  ours->agreed = true;
  return 0;
}

int FakeVerbs::post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeQp>(qp);
  for (ibv_send_wr* each = first; each != nullptr; each = each->next) {
    *bad = each;
    if (ours->context->hca->dead) return EIO;
    if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR) return EINVAL;
    if (ours->sends_posted - ours->sends_retired >= ours->cap.max_send_wr) return ENOMEM;
    FakeSend send;
    if (const int error = copy_request(*ours, *each, send); error != 0) return error;
    ++ours->sends_posted;
    ++n_.sends_;
    if (n_.port_after_ >= 0 && n_.port_after_-- == 0) {
      n_.set_port_locked(n_.port_name_, n_.port_up_);
    }
    ours->sends.push_back(std::move(send));
  }
  n_.run(*ours);
  return 0;
}

int FakeVerbs::post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) const {
  const std::lock_guard lock(n_.mutex_);
  auto* ours = as<FakeQp>(qp);
  for (ibv_recv_wr* each = first; each != nullptr; each = each->next) {
    *bad = each;
    if (ours->context->hca->dead) return EIO;
    if (qp->state == IBV_QPS_RESET) return EINVAL;
    if (ours->receives_posted - ours->receives_retired >= ours->cap.max_recv_wr) return ENOMEM;
    if (static_cast<std::uint32_t>(each->num_sge) > ours->cap.max_recv_sge) return EINVAL;
    ++ours->receives_posted;
    ours->receives.push_back({each->wr_id, {each->sg_list, each->sg_list + each->num_sge}});
  }
  if (qp->state == IBV_QPS_ERR) {
    while (!ours->receives.empty()) n_.complete_receive(*ours, IBV_WC_WR_FLUSH_ERR, {});
  } else if (FakeQp* peer = n_.find_qp(ours->attributes.dest_qp_num)) {
    n_.run(*peer);
  }
  return 0;
}

}  // namespace thinwire::fakes
