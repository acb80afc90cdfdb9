// libibverbs at run time. What its header defines inline calls through the objects themselves and
// needs no symbol; everything else is looked up.
#include <dlfcn.h>
#include <errno.h>

#include "transports/verbs/api.h"

namespace thinwire::transports::verbs {

namespace {

struct Symbols {
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_free_device_list) free_device_list;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_close_device) close_device;
  decltype(&::ibv_query_device) query_device;
  int (*query_port)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*);
  decltype(&::_ibv_query_gid_table) query_gid_table;  // null: older than rdma-core 32
  decltype(&::ibv_get_async_event) get_async_event;
  decltype(&::ibv_ack_async_event) ack_async_event;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int);
  // Null: older than rdma-core 30, and then without optional access flags.
  ibv_mr* (*reg_mr_iova2)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned);
  decltype(&::ibv_reg_dmabuf_mr) reg_dmabuf_mr;  // null: older than rdma-core 34
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_comp_channel) create_comp_channel;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  decltype(&::ibv_get_cq_event) get_cq_event;
  decltype(&::ibv_ack_cq_events) ack_cq_events;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
  decltype(&::ibv_query_ece) query_ece;  // null, both: older than rdma-core 30
  decltype(&::ibv_set_ece) set_ece;
};

class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function& function) {
    find_if_there(name, function);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  template <class Function>
  void find_if_there(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void find_all(Finder& finder, Symbols& symbols) {
  finder.find("ibv_get_device_list", symbols.get_device_list);
  finder.find("ibv_free_device_list", symbols.free_device_list);
  finder.find("ibv_open_device", symbols.open_device);
  finder.find("ibv_close_device", symbols.close_device);
  finder.find("ibv_query_device", symbols.query_device);
  finder.find("ibv_query_port", symbols.query_port);
  finder.find_if_there("_ibv_query_gid_table", symbols.query_gid_table);
  finder.find("ibv_get_async_event", symbols.get_async_event);
  finder.find("ibv_ack_async_event", symbols.ack_async_event);
  finder.find("ibv_alloc_pd", symbols.alloc_pd);
  finder.find("ibv_dealloc_pd", symbols.dealloc_pd);
  finder.find("ibv_reg_mr", symbols.reg_mr);
  finder.find_if_there("ibv_reg_mr_iova2", symbols.reg_mr_iova2);
  finder.find_if_there("ibv_reg_dmabuf_mr", symbols.reg_dmabuf_mr);
  finder.find("ibv_dereg_mr", symbols.dereg_mr);
  finder.find("ibv_create_comp_channel", symbols.create_comp_channel);
  finder.find("ibv_destroy_comp_channel", symbols.destroy_comp_channel);
  finder.find("ibv_create_cq", symbols.create_cq);
  finder.find("ibv_destroy_cq", symbols.destroy_cq);
  finder.find("ibv_get_cq_event", symbols.get_cq_event);
  finder.find("ibv_ack_cq_events", symbols.ack_cq_events);
  finder.find("ibv_create_qp", symbols.create_qp);
  finder.find("ibv_modify_qp", symbols.modify_qp);
  finder.find("ibv_destroy_qp", symbols.destroy_qp);
  finder.find_if_there("ibv_query_ece", symbols.query_ece);
  finder.find_if_there("ibv_set_ece", symbols.set_ece);
}

class Library final : public Api {
 public:
  explicit Library(const Symbols& symbols) : s_(symbols) {}

  ibv_device** get_device_list(int* count) const override { return s_.get_device_list(count); }
  void free_device_list(ibv_device** list) const override { s_.free_device_list(list); }
  ibv_context* open_device(ibv_device* device) const override { return s_.open_device(device); }
  int close_device(ibv_context* context) const override { return s_.close_device(context); }
  int query_device(ibv_context* context, ibv_device_attr* attributes) const override {
    return s_.query_device(context, attributes);
  }
  int query_port(ibv_context* context, std::uint8_t port,
                 ibv_port_attr* attributes) const override {
    return s_.query_port(context, port, reinterpret_cast<_compat_ibv_port_attr*>(attributes));
  }
  ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                          std::size_t count) const override {
    if (s_.query_gid_table == nullptr) return -EOPNOTSUPP;
    return s_.query_gid_table(context, entries, count, 0, sizeof *entries);
  }
  int get_async_event(ibv_context* context, ibv_async_event* event) const override {
    return s_.get_async_event(context, event);
  }
  void ack_async_event(ibv_async_event* event) const override { s_.ack_async_event(event); }

  ibv_pd* alloc_pd(ibv_context* context) const override { return s_.alloc_pd(context); }
  int dealloc_pd(ibv_pd* pd) const override { return s_.dealloc_pd(pd); }
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const override {
    if (s_.reg_mr_iova2 != nullptr) {
      return s_.reg_mr_iova2(pd, address, bytes, reinterpret_cast<std::uintptr_t>(address),
                             static_cast<unsigned>(access));
    }
    return s_.reg_mr(pd, address, bytes, access & ~IBV_ACCESS_OPTIONAL_RANGE);
  }
  ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                        int fd, int access) const override {
    if (s_.reg_dmabuf_mr != nullptr) return s_.reg_dmabuf_mr(pd, offset, bytes, iova, fd, access);
    errno = EOPNOTSUPP;
    return nullptr;
  }
  int dereg_mr(ibv_mr* mr) const override { return s_.dereg_mr(mr); }

  ibv_comp_channel* create_comp_channel(ibv_context* context) const override {
    return s_.create_comp_channel(context);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) const override {
    return s_.destroy_comp_channel(channel);
  }
  ibv_cq* create_cq(ibv_context* context, int entries, void* user,
                    ibv_comp_channel* channel) const override {
    return s_.create_cq(context, entries, user, channel, 0);
  }
  int destroy_cq(ibv_cq* cq) const override { return s_.destroy_cq(cq); }
  int req_notify_cq(ibv_cq* cq) const override { return ::ibv_req_notify_cq(cq, 0); }
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) const override {
    return s_.get_cq_event(channel, cq, user);
  }
  void ack_cq_events(ibv_cq* cq, unsigned count) const override { s_.ack_cq_events(cq, count); }
  int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) const override {
    return ::ibv_poll_cq(cq, count, completions);
  }

  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) const override {
    return s_.create_qp(pd, attributes);
  }
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) const override {
    return s_.modify_qp(qp, attributes, mask);
  }
  int destroy_qp(ibv_qp* qp) const override { return s_.destroy_qp(qp); }
  int query_ece(ibv_qp* qp, ibv_ece* ece) const override {
    return s_.query_ece == nullptr ? EOPNOTSUPP : s_.query_ece(qp, ece);
  }
  int set_ece(ibv_qp* qp, ibv_ece* ece) const override {
    return s_.set_ece == nullptr ? EOPNOTSUPP : s_.set_ece(qp, ece);
  }
  int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) const override {
    return ::ibv_post_send(qp, first, bad);
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) const override {
    return ::ibv_post_recv(qp, first, bad);
  }

 private:
  const Symbols s_;
};

}  // namespace

Result<std::unique_ptr<Api>> load_api(const Log& log) {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    THINWIRE_INFO(log, "verbs: %s", ::dlerror());
    return Status(Code::system_error, "libibverbs.so.1 cannot be loaded");
  }
  Symbols symbols{};
  Finder finder(library);
  find_all(finder, symbols);
  if (finder.missing() != nullptr) {
    THINWIRE_INFO(log, "verbs: libibverbs.so.1 lacks %s", finder.missing());
    return Status(Code::system_error, "libibverbs.so.1 lacks a function");
  }
  return std::unique_ptr<Api>(std::make_unique<Library>(symbols));
}

}  // namespace thinwire::transports::verbs
