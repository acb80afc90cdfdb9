#include "transports/verbs/queue_pair.h"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "transports/random.h"
#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

constexpr std::uint32_t kWantedInlineBytes = 192;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint8_t kForever = 7;            // receiver not ready: credits make it an exception
constexpr std::uint8_t kReceiverNotReady = 12;  // 0.64 ms between tries
constexpr int kMaxReads = 16;
constexpr int kMaxSpeed = 65535;
constexpr std::int64_t kMostRetries = 6;  // 7 is "for ever" on some devices

std::uint8_t reads_of(const Context& context) {
  return static_cast<std::uint8_t>(std::clamp(context.limits().max_qp_rd_atom, 1, kMaxReads));
}

Status refused(const char* text, int error) { return {Code::system_error, text, error}; }

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(const Context& context, ibv_cq* cq,
                                                     QueueDepths depths, std::uint16_t path,
                                                     std::uint16_t epoch, int access) {
  std::unique_ptr<QueuePair> pair(new QueuePair(context, depths, path, epoch));
  Status status = pair->create_native(cq);
  if (status.ok()) status = pair->initialise(access);
  if (!status.ok()) return status;
  return pair;
}

QueuePair::~QueuePair() {
  if (native_ != nullptr) context_.api().destroy_qp(native_);
}

Status QueuePair::create_native(ibv_cq* cq) {
  // How much can be sent inline depends on the device and on the rest of what is asked.
  for (std::uint32_t inline_bytes : {kWantedInlineBytes, kWantedInlineBytes / 2, 0u}) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = depths_.send,
                      .max_recv_wr = depths_.receive,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = inline_bytes};
    native_ = context_.api().create_qp(context_.domain(), &attributes);
    if (native_ == nullptr) continue;
    max_inline_bytes_ = attributes.cap.max_inline_data;
    first_packet_ = static_cast<std::uint32_t>(random_number()) & 0xffffff;
    return {};
  }
  return refused("no queue pair: too many for the device, or too little locked memory", errno);
}

Status QueuePair::initialise(int access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = 0;
  attributes.port_num = context_.port_number();
  attributes.qp_access_flags = static_cast<unsigned>(access);
  const int error = context_.api().modify_qp(
      native_, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  return error == 0 ? Status() : refused("the queue pair cannot be initialised", error);
}

PathAddress QueuePair::address() const {
  PathAddress address;
  address.queue_pair = native_->qp_num;
  address.first_packet = first_packet_;
  address.lid = context_.port().lid;
  address.ethernet = context_.is_ethernet() ? 1 : 0;
  address.mtu = static_cast<std::uint8_t>(context_.port().active_mtu);
  address.reads = reads_of(context_);
  address.speed = static_cast<std::uint16_t>(std::min(context_.speed() / kSpeedUnit, kMaxSpeed));
  std::memcpy(address.gid.data(), context_.gid().gid.raw, address.gid.size());
  ibv_ece extensions{};
  if (takes_extensions_ && context_.api().query_ece(native_, &extensions) == 0) {
    address.extensions = extensions;
  }
  return address;
}

ibv_ah_attr QueuePair::route_to(const PathAddress& peer) const {
  ibv_ah_attr route{};
  route.port_num = context_.port_number();
  route.sl = static_cast<std::uint8_t>(context_.settings().config.ib_sl);
  route.dlid = peer.lid;
  ibv_gid peer_gid{};
  std::memcpy(peer_gid.raw, peer.gid.data(), peer.gid.size());
  const bool same_subnet = peer_gid.global.subnet_prefix == context_.gid().gid.global.subnet_prefix;
  // RoCE always routes by address, InfiniBand only between subnets.
  if (!context_.is_ethernet() && same_subnet && peer.lid != 0) return route;
  route.is_global = 1;
  route.grh.dgid = peer_gid;
  route.grh.sgid_index = static_cast<std::uint8_t>(context_.gid().index);
  route.grh.hop_limit = kHopLimit;
  route.grh.traffic_class = static_cast<std::uint8_t>(context_.settings().config.ib_tc);
  return route;
}

// Where one of the two cannot, both do without.
void QueuePair::agree_with(const ibv_ece& peer) {
  takes_extensions_ = takes_extensions_ && peer.options != 0;
  if (!takes_extensions_) return;
  ibv_ece extensions = peer;
  const int error = context_.api().set_ece(native_, &extensions);
  takes_extensions_ = error == 0;
  if (!takes_extensions_) {
    THINWIRE_INFO(context_.settings().log, "%s: the peer's extensions are not used (error %d)",
                  context_.name().c_str(), error);
  }
}

Status QueuePair::receive_from(const PathAddress& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu =
      static_cast<ibv_mtu>(std::min<int>(peer.mtu, static_cast<int>(context_.port().active_mtu)));
  attributes.dest_qp_num = peer.queue_pair;
  attributes.rq_psn = peer.first_packet;
  attributes.max_dest_rd_atomic = reads_of(context_);
  attributes.min_rnr_timer = kReceiverNotReady;
  attributes.ah_attr = route_to(peer);
  const int error = context_.api().modify_qp(native_, &attributes,
                                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                                 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  return error == 0 ? Status() : Status(Code::peer_lost, "no route to the peer's GID", error);
}

Status QueuePair::send_to(const PathAddress& peer) {
  const Config& config = context_.settings().config;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = first_packet_;
  attributes.timeout = static_cast<std::uint8_t>(config.ib_timeout);
  attributes.retry_cnt = static_cast<std::uint8_t>(std::min(config.ib_retry_cnt, kMostRetries));
  attributes.rnr_retry = kForever;
  attributes.max_rd_atomic = std::min(reads_of(context_), peer.reads);
  const int error =
      context_.api().modify_qp(native_, &attributes,
                               IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  return error == 0 ? Status() : refused("the queue pair cannot be made ready to send", error);
}

Status QueuePair::connect(const PathAddress& peer) {
  if ((peer.ethernet != 0) != context_.is_ethernet()) {
    return {Code::peer_lost, "one side's port is InfiniBand, the other's RoCE"};
  }
  if (peer.mtu < IBV_MTU_256 || peer.mtu > IBV_MTU_4096 || peer.reads == 0) {
    return {Code::peer_lost, "the peer's address makes no sense"};
  }
  agree_with(peer.extensions);
  const Status status = receive_from(peer);
  return status.ok() ? send_to(peer) : status;
}

void QueuePair::stop() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  // A device that refuses is about to be given up anyway.
  context_.api().modify_qp(native_, &attributes, IBV_QP_STATE);
}

Status QueuePair::post_send(ibv_send_wr& request, bool signalled) {
  if (++unsignalled_ >= std::max(1u, depths_.send / 4)) signalled = true;
  if (signalled) {
    request.send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  }
  request.wr_id = WorkName{path_, false, epoch_, posted_}.pack();
  ibv_send_wr* bad = nullptr;
  const int error = context_.api().post_send(native_, &request, &bad);
  if (error != 0) return refused("the device refuses a work request", error);
  ++posted_;
  return {};
}

Status QueuePair::post_receive(std::uint32_t slot, ibv_sge* memory) {
  ibv_recv_wr request{};
  request.wr_id = WorkName{path_, true, epoch_, slot}.pack();
  request.sg_list = memory;
  request.num_sge = memory == nullptr ? 0 : 1;
  ibv_recv_wr* bad = nullptr;
  const int error = context_.api().post_recv(native_, &request, &bad);
  return error == 0 ? Status() : refused("the device refuses a receive", error);
}

void QueuePair::retire(std::uint32_t position) {
  const std::uint32_t count = position + 1 - retired_;
  if (count <= posted_ - retired_) retired_ += count;
}

}  // namespace thinwire::transports::verbs
