// The part of libibverbs that the transport uses, as an interface: the library itself, found at
// run time, or a fake in tests. Names, arguments and results are those of the library's functions.
// Owner: VerbsTransport's maker. Any thread, as far as the library allows it.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <memory>

#include "base/log.h"
#include "base/status.h"

namespace thinwire::transports::verbs {

class Api {
 public:
  virtual ~Api() = default;

  virtual ibv_device** get_device_list(int* count) const = 0;
  virtual void free_device_list(ibv_device** list) const = 0;
  virtual ibv_context* open_device(ibv_device* device) const = 0;
  virtual int close_device(ibv_context* context) const = 0;
  virtual int query_device(ibv_context* context, ibv_device_attr* attributes) const = 0;
  // Fields that are newer than the library's first version may stay as they are.
  virtual int query_port(ibv_context* context, std::uint8_t port,
                         ibv_port_attr* attributes) const = 0;
  // All readable entries of all ports; negative: an errno, or not supported.
  virtual ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                  std::size_t count) const = 0;
  virtual int get_async_event(ibv_context* context, ibv_async_event* event) const = 0;
  virtual void ack_async_event(ibv_async_event* event) const = 0;

  virtual ibv_pd* alloc_pd(ibv_context* context) const = 0;
  virtual int dealloc_pd(ibv_pd* pd) const = 0;
  virtual ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const = 0;
  // Null with EOPNOTSUPP where library, kernel or device cannot.
  virtual ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                                std::uint64_t iova, int fd, int access) const = 0;
  virtual int dereg_mr(ibv_mr* mr) const = 0;

  virtual ibv_comp_channel* create_comp_channel(ibv_context* context) const = 0;
  virtual int destroy_comp_channel(ibv_comp_channel* channel) const = 0;
  virtual ibv_cq* create_cq(ibv_context* context, int entries, void* user,
                            ibv_comp_channel* channel) const = 0;
  virtual int destroy_cq(ibv_cq* cq) const = 0;
  virtual int req_notify_cq(ibv_cq* cq) const = 0;
  virtual int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) const = 0;
  virtual void ack_cq_events(ibv_cq* cq, unsigned count) const = 0;
  virtual int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) const = 0;

  virtual ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) const = 0;
  virtual int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) const = 0;
  virtual int destroy_qp(ibv_qp* qp) const = 0;
  // EOPNOTSUPP where library or device cannot.
  virtual int query_ece(ibv_qp* qp, ibv_ece* ece) const = 0;
  virtual int set_ece(ibv_qp* qp, ibv_ece* ece) const = 0;
  virtual int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) const = 0;
  virtual int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) const = 0;
};

// libibverbs.so.1, loaded for the rest of the process's life (its providers cannot be unloaded).
// Code::system_error, with the details at INFO: not there, or it lacks a function.
Result<std::unique_ptr<Api>> load_api(const Log& log);

}  // namespace thinwire::transports::verbs
