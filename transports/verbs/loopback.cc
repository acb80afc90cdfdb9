#include "transports/verbs/loopback.h"

#include <errno.h>

#include <cstring>

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {
constexpr QueueDepths kDepths{4, 1};
constexpr int kEntries = 8;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
}  // namespace

Result<std::unique_ptr<Loopback>> Loopback::create(const Context& context) {
  std::unique_ptr<Loopback> loopback(new Loopback(context));
  const Status opened = loopback->open();
  if (!opened.ok()) return opened;
  return loopback;
}

Loopback::~Loopback() {
  pair_.reset();
  if (queue_ != nullptr) context_.api().destroy_cq(queue_);
  if (mr_ != nullptr) context_.api().dereg_mr(mr_);
}

Status Loopback::open() {
  const Api& api = context_.api();
  mr_ = api.reg_mr(context_.domain(), memory_.get(), sizeof(Memory), IBV_ACCESS_LOCAL_WRITE);
  if (mr_ == nullptr) return {Code::system_error, "no memory for the device's own copies", errno};
  queue_ = api.create_cq(context_.native(), kEntries, this, context_.channel());
  if (queue_ == nullptr) return {Code::system_error, "no completion queue", errno};
  auto pair = QueuePair::create(context_, queue_, kDepths, 0, 0, kAccess);
  if (!pair.ok()) return pair.status();
  pair_ = std::move(pair).value();
  return pair_->connect(pair_->address());
}

Status Loopback::post(ibv_send_wr& request, void* local, std::size_t bytes) {
  ibv_sge memory{reinterpret_cast<std::uintptr_t>(local), static_cast<std::uint32_t>(bytes),
                 mr_->lkey};
  request.sg_list = &memory;
  request.num_sge = 1;
  return pair_->post_send(request, true);
}

Status Loopback::read(std::uint64_t address, std::uint32_t key) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma = {address, key};
  return post(request, memory_->read_here, 1);
}

Status Loopback::write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> bytes) {
  std::memcpy(memory_->bytes, bytes.data(), bytes.size());
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma = {address, key};
  return post(request, memory_->bytes, bytes.size());
}

Status Loopback::poll() {
  ibv_wc completion{};
  const int count = context_.api().poll_cq(queue_, 1, &completion);
  if (count == 0) return Status::would_block();
  if (count < 0) return {Code::system_error, "the completion queue cannot be polled", -count};
  pair_->retire(WorkName::unpack(completion.wr_id).number);
  if (completion.status == IBV_WC_SUCCESS) return {};
  return {Code::system_error, words_of(completion.status), completion.status};
}

}  // namespace thinwire::transports::verbs
