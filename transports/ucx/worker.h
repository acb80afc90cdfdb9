// One UCP worker: UCX's progress, its address for peers, its events. Owner: an Endpoint or one of
// its connections; the endpoint's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/event_set.h"
#include "transports/ucx/context.h"
#include "transports/ucx/message.h"

namespace thinwire::transports::ucx {

// One active message as UCP hands it over, inside ucp_worker_progress().
struct ActiveMessage {
  MessageHeader header;
  void* data = nullptr;  // the bytes, or with `descriptor` UCP's descriptor of them
  std::size_t bytes = 0;
  // Of a rendezvous; where UCX handles GPU memory also of other payloads, because UCX alone can
  // unpack them there.
  bool descriptor = false;
};

class MessageSink {
 public:
  // False: not wanted; a rendezvous is refused. True: the bytes were copied, or the descriptor
  // was kept or its receive begun.
  virtual bool message_arrived(const ActiveMessage& message) = 0;

 protected:
  ~MessageSink() = default;
};

class Worker {
 public:
  // All references outlive the worker. Enters and leaves `list` itself.
  static Result<std::unique_ptr<Worker>> create(const Context& context, EventSet& events,
                                                MessageSink& sink, std::vector<Worker*>& list);
  // Ends everything UCX still does with it: no buffer is touched any more.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ucp_worker_h native() const { return worker_; }
  std::span<const std::byte> address() const { return address_; }

  // True when something happened.
  bool progress() { return context_.api().worker_progress(worker_) != 0; }
  // Makes its descriptor report the next event. False: something to do came in meanwhile.
  bool arm() { return context_.api().worker_arm(worker_) == UCS_OK; }

 private:
  Worker(const Context& context, EventSet& events, MessageSink& sink, std::vector<Worker*>& list,
         ucp_worker_h worker);
  Status set_up();
  static ucs_status_t arrived(void* worker, const void* header, std::size_t header_bytes,
                              void* data, std::size_t bytes, const ucp_am_recv_param_t* param);

  const Context& context_;
  EventSet& events_;
  MessageSink& sink_;
  std::vector<Worker*>& list_;
  ucp_worker_h worker_;
  int event_fd_ = -1;
  std::vector<std::byte> address_;
};

}  // namespace thinwire::transports::ucx
