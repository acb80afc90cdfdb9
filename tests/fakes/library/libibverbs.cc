// The fake network as a libibverbs.so.1 of its own, for programs that load Thinwire's library as
// NCCL does: found before the system's by LD_LIBRARY_PATH. It has the devices fake0 to fake2 (RoCE)
// and fake3 (InfiniBand), all of them in the process itself.
#include "tests/fakes/fake_objects.h"

// The header turns these names into wrappers.
#undef ibv_query_port
#undef ibv_reg_mr

namespace {

using thinwire::fakes::FakeHcaOptions;
using thinwire::fakes::FakeNetwork;
using thinwire::fakes::FakeVerbs;

// Never destroyed: the library that uses it may be in use until the process ends.
FakeVerbs& verbs() {
  static auto* const network =
      new FakeNetwork({{.name = "fake0", .address = "::ffff:10.0.0.1"},
                       {.name = "fake1", .address = "::ffff:10.0.0.2"},
                       {.name = "fake2", .address = "::ffff:10.0.0.3"},
                       {.name = "fake3", .link_layer = IBV_LINK_LAYER_INFINIBAND}});
  static auto* const made = new FakeVerbs(*network);
  return *made;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) {
  return verbs().poll_cq(cq, count, completions);
}
int req_notify_cq(ibv_cq* cq, int) { return verbs().req_notify_cq(cq); }
int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
  return verbs().post_send(qp, first, bad);
}
int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) {
  return verbs().post_recv(qp, first, bad);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ibv_device** ibv_get_device_list(int* count) { return verbs().get_device_list(count); }
void ibv_free_device_list(ibv_device** list) { verbs().free_device_list(list); }
ibv_context* ibv_open_device(ibv_device* device) {
  ibv_context* context = verbs().open_device(device);
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  context->ops.post_send = post_send;
  context->ops.post_recv = post_recv;
  return context;
}
int ibv_close_device(ibv_context* context) { return verbs().close_device(context); }
int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return verbs().query_device(context, attributes);
}
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return verbs().query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes));
}
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count,
                             std::uint32_t, std::size_t) {
  return verbs().query_gid_table(context, entries, count);
}
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return verbs().get_async_event(context, event);
}
void ibv_ack_async_event(ibv_async_event* event) { verbs().ack_async_event(event); }
ibv_pd* ibv_alloc_pd(ibv_context* context) { return verbs().alloc_pd(context); }
int ibv_dealloc_pd(ibv_pd* pd) { return verbs().dealloc_pd(pd); }
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  return verbs().reg_mr(pd, address, bytes, access);
}
int ibv_dereg_mr(ibv_mr* mr) { return verbs().dereg_mr(mr); }
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return verbs().create_comp_channel(context);
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return verbs().destroy_comp_channel(channel);
}
ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                      int) {
  return verbs().create_cq(context, entries, user, channel);
}
int ibv_destroy_cq(ibv_cq* cq) { return verbs().destroy_cq(cq); }
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
  return verbs().get_cq_event(channel, cq, user);
}
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) { verbs().ack_cq_events(cq, count); }
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  return verbs().create_qp(pd, attributes);
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return verbs().modify_qp(qp, attributes, mask);
}
int ibv_destroy_qp(ibv_qp* qp) { return verbs().destroy_qp(qp); }
int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) { return verbs().query_ece(qp, ece); }
int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) { return verbs().set_ece(qp, ece); }

}  // extern "C"
#pragma GCC visibility pop
