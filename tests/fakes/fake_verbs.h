// An RDMA network within one process, behind the interface of libibverbs. It follows the stricter
// of the rules that devices have (mlx5's, where they differ): slots of queues are free only once a
// completion was polled, protection and lengths are checked, queues overflow, failures flush.
// Everything happens inside the calls, so a run repeats itself.
// Owner: FakeNetwork the test, which it outlives; FakeVerbs a VerbsTransport. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "transports/verbs/api.h"

namespace thinwire::fakes {

struct FakeHcaOptions {
  std::string name = "fake0";
  int link_layer = IBV_LINK_LAYER_ETHERNET;
  ibv_mtu mtu = IBV_MTU_4096;
  std::uint32_t max_message_bytes = 1u << 30;
  std::uint32_t max_inline_bytes = 128;
  std::string address = "::ffff:10.0.0.1";  // of GID 1; GID 0 is link-local
  bool dmabuf = false;
  std::uint8_t speed = 32;       // of a lane, as ports tell it: 25 Gb/s
  std::uint8_t width = 2;        // the same: 4 lanes
  std::uint32_t extensions = 0;  // of the standard, a bit each (ECE); 0: it knows of none
};

struct FakeMr;
struct FakeCq;
struct FakeQp;
struct FakeSend;
struct FakeContext;

// How a send that is chosen to fail fails.
enum class Loss : std::uint8_t {
  packet,           // nothing arrives
  acknowledgement,  // it arrives, and the sender does not hear of it
};

class FakeNetwork {
 public:
  explicit FakeNetwork(const std::vector<FakeHcaOptions>& hcas = {FakeHcaOptions{}});
  ~FakeNetwork();

  // The sends of any queue pair after `count` more fail with "retry counter exceeded", `times` of
  // them in a row.
  void fail_send_after(int count, Loss loss, int times = 1);
  // Everything that leaves from or for this device fails; its port reports it.
  void set_port(const std::string& hca, bool up);
  // The same by itself, when `count` more sends of any queue pair are made.
  void set_port_after(int count, const std::string& hca, bool up);
  // The same, but the port reports nothing: a switch that forwards nothing.
  void set_wire(const std::string& hca, bool works);
  // The device reports that it failed, gives back what is posted, and refuses everything after.
  void kill(const std::string& hca);
  // Payload of RDMA writes that left from this device.
  std::uint64_t bytes_written(const std::string& hca) const;
  // The same of those that brought immediate data.
  std::uint64_t bytes_written_telling(const std::string& hca) const;
  // What this device's connected queue pairs have agreed on, each value once.
  std::set<std::uint32_t> extensions_in_use(const std::string& hca) const;
  // What is registered as a DMA-BUF from now on lies `offset` bytes from where the processor has
  // it: memory that only devices reach.
  void set_dmabuf_offset(std::ptrdiff_t offset) { dmabuf_offset_ = offset; }
  // An event beside completions.
  void raise(const std::string& hca, ibv_event_type event);

  // Whether everything that was made was destroyed.
  int live_objects() const;
  // Registrations that were made, destroyed ones included.
  int registrations_made() const { return registrations_; }
  // All their access flags together.
  int access_given() const { return access_given_; }
  int sends_made() const { return sends_; }
  // RDMA reads that succeeded.
  int reads_made() const { return reads_; }

 private:
  friend class FakeVerbs;
  friend struct FakeQp;
  friend struct FakeContext;

  struct Hca {
    FakeHcaOptions options;
    ibv_device device{};
    bool up = true;
    bool wire = true;
    bool dead = false;
    std::uint64_t written = 0;
    std::uint64_t written_telling = 0;
  };
  Hca* find(const ibv_device* device);
  Hca* find(const std::string& name) const;
  void set_port_locked(const std::string& hca, bool up);
  // Moves what can be moved of this queue pair's sends.
  void run(FakeQp& qp);
  // False: it has to wait for its receive, or for its peer.
  bool execute(FakeQp& qp);
  std::byte* at(std::uint32_t key, std::uint64_t address) const;
  ibv_wc_status read(const FakeSend& send, FakeQp& peer);
  ibv_wc_status gather(const FakeQp& qp, std::vector<std::byte>& bytes);
  ibv_wc_status place(const FakeSend& send, FakeQp& peer, std::size_t bytes, std::byte** target);
  void complete_send(FakeQp& qp, ibv_wc_status status);
  void complete_receive(FakeQp& qp, ibv_wc_status status, const ibv_wc& what);
  void fail_queue_pair(FakeQp& qp, ibv_event_type event);
  void push(FakeCq& cq, const ibv_wc& completion, FakeQp& qp, bool is_send, std::uint64_t index);
  void raise_locked(FakeContext& context, ibv_event_type event);
  FakeQp* peer_of(const FakeQp& qp);
  const FakeMr* memory(std::uint32_t key, std::uint64_t address, std::size_t bytes, int access);
  bool is_to_fail(Loss* loss);
  FakeQp* find_qp(std::uint32_t number);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Hca>> hcas_;
  std::set<FakeContext*> contexts_;
  std::map<std::uint32_t, FakeQp*> queue_pairs_;
  std::map<std::uint32_t, FakeMr*> memories_;
  std::set<const void*> live_;
  std::uint32_t next_number_ = 100;
  int registrations_ = 0;
  int access_given_ = 0;
  int sends_ = 0;
  int reads_ = 0;
  std::ptrdiff_t dmabuf_offset_ = 0;
  int fail_after_ = -1;
  int fail_times_ = 0;
  Loss loss_ = Loss::packet;
  int port_after_ = -1;
  std::string port_name_;
  bool port_up_ = false;
};

class FakeVerbs final : public transports::verbs::Api {
 public:
  explicit FakeVerbs(FakeNetwork& network) : n_(network) {}

  ibv_device** get_device_list(int* count) const override;
  void free_device_list(ibv_device** list) const override;
  ibv_context* open_device(ibv_device* device) const override;
  int close_device(ibv_context* context) const override;
  int query_device(ibv_context* context, ibv_device_attr* attributes) const override;
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) const override;
  ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                          std::size_t count) const override;
  int get_async_event(ibv_context* context, ibv_async_event* event) const override;
  void ack_async_event(ibv_async_event* event) const override;

  ibv_pd* alloc_pd(ibv_context* context) const override;
  int dealloc_pd(ibv_pd* pd) const override;
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const override;
  ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                        int fd, int access) const override;
  int dereg_mr(ibv_mr* mr) const override;

  ibv_comp_channel* create_comp_channel(ibv_context* context) const override;
  int destroy_comp_channel(ibv_comp_channel* channel) const override;
  ibv_cq* create_cq(ibv_context* context, int entries, void* user,
                    ibv_comp_channel* channel) const override;
  int destroy_cq(ibv_cq* cq) const override;
  int req_notify_cq(ibv_cq* cq) const override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) const override;
  void ack_cq_events(ibv_cq* cq, unsigned count) const override;
  int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) const override;

  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) const override;
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) const override;
  int destroy_qp(ibv_qp* qp) const override;
  int query_ece(ibv_qp* qp, ibv_ece* ece) const override;
  int set_ece(ibv_qp* qp, ibv_ece* ece) const override;
  int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) const override;
  int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) const override;

 private:
  ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) const;
  FakeNetwork& n_;
};

}  // namespace thinwire::fakes
