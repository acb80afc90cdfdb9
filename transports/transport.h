// The transport interface: moves registered bytes between two endpoints.
//
// Transport -> Endpoint -> Connection. Calls go down, completions are pulled up as values.
// An Endpoint and everything made from it is used by one thread at a time (its owner holds a
// lock); only Endpoint::wait() may run beside another call. Owned by unique_ptr from the caller;
// destroy Listeners and Connections before their Endpoint, Endpoints before their Transport.
// No function blocks except wait().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/nic_info.h"
#include "base/status.h"

namespace thinwire::transports {

inline constexpr std::size_t kHandleBytes = 128;  // NCCL_NET_HANDLE_MAXSIZE
inline constexpr std::size_t kMaxHelloBytes = 64;
inline constexpr int kMaxGroupedReceives = 8;
inline constexpr std::size_t kMaxMergedDevices = 8;

inline constexpr std::uint32_t kHandleMagic = 0x49575754;  // "TWWI" in memory

// What a listener gives to its peers, opaque to the layers above. The first 8 bytes of every
// transport's handle are kHandleMagic (32 bits), a format version (16) and the transport's number
// (16: 1 tcp, 2 memory, 3 ucx, 4 verbs, 5 shm); docs/wire_format.md has the rest.
struct Handle {
  std::array<std::byte, kHandleBytes> bytes{};
};

enum class MemoryKind : std::uint8_t { host, cuda };

// Names one registration of an Endpoint.
struct MemoryKey {
  std::uint64_t value = 0;
};

struct ReceiveBuffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t tag = 0;
  MemoryKey memory;
  // Alone in its post: the message may instead stay in the transport's memory, Completion::view.
  bool borrow = false;
};

// One finished post. For a send, bytes[0] is what was sent. For a receive, count buffers in posted
// order with the bytes that arrived in each. A failed status also says that the connection failed.
struct Completion {
  std::uint64_t cookie = 0;
  Status status;
  int count = 0;
  std::array<std::size_t, kMaxGroupedReceives> bytes{};
  // Not null: the message lies here and not in its buffer, for the receiver alone to read and to
  // write, until Connection::give_back(view) or the end of the connection.
  void* view = nullptr;
};

// What differs between transports and matters above them.
struct Capabilities {
  std::size_t max_message_bytes = 0;
  // Largest piece that keeps the transport's pipeline full without leaving the cache.
  std::size_t preferred_piece_bytes = 0;
  bool cuda_memory = false;
};

// Sums over an Endpoint's life.
struct Counters {
  std::uint64_t bytes_sent = 0;    // on the wire, headers included
  std::uint64_t payload_sent = 0;  // messages' bytes
  std::uint64_t messages_sent = 0;
  std::uint64_t unexpected_bytes = 0;   // arrived before their receive was posted, copied once more
  std::uint64_t strangers_refused = 0;  // connections to a listener without its token
  std::uint64_t near_bytes = 0;  // of an Endpoint of two kinds: payload that stayed within the host
};

// A reliable, bidirectional link to one peer. Messages match receives by tag, first sent to first
// posted of the same tag; different tags overtake one another freely. A message may be shorter
// than its buffer; a longer one fails the connection on both sides (Code::invalid_argument). A
// message whose receive is not posted yet waits, within the transport's bounded window.
// The first error sticks: every outstanding post completes with it and every later call returns it.
// What a peer had sent whole when it closed stays there for receives that are posted later; the
// connection fails (Code::peer_lost) as soon as anything else is asked of it, or nothing is left.
class Connection {
 public:
  virtual ~Connection() = default;

  // would_block while being established, then ok until it fails. Progress comes from
  // Endpoint::poll().
  virtual Status state() const = 0;

  // What the connecting side passed to Endpoint::connect(). Valid once state() is ok.
  virtual std::span<const std::byte> hello() const = 0;

  // Starts sending `bytes` (0 allowed) from `data`, which stays untouched until the completion
  // with `cookie` is polled. would_block: no room now, nothing was taken.
  virtual Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                           std::uint64_t cookie) = 0;

  // Posts 1..kMaxGroupedReceives buffers that complete together once each got its message.
  virtual Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) = 0;

  // Completes with `cookie` once all that was received into this GPU memory, which holds `data`, is
  // visible to the GPU. Code::invalid_argument: not needed or not possible here.
  virtual Status post_flush(const void* data, MemoryKey memory, std::uint64_t cookie);

  // Ends the use of a completion's view of this connection, once. Soon: the peer's sends wait for
  // the memory.
  virtual void give_back(void* /*view*/) {}

  // For messages to people: "host (address)" or what is known of it.
  virtual std::string_view peer_name() const = 0;
};

// Accepts connections that present this listener's token. Any number of them.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual const Handle& handle() const = 0;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual Result<std::unique_ptr<Listener>> listen() = 0;

  // Begins connecting; returns at once with a Connection whose state() is would_block. `hello`
  // (at most kMaxHelloBytes) is delivered to the accepting side. A handle that is not one of this
  // transport's is Code::invalid_argument (garbage) or Code::peer_lost (another version).
  virtual Result<std::unique_ptr<Connection>> connect(const Handle& handle,
                                                      std::span<const std::byte> hello) = 0;

  // Takes an established connection from a listener (of this transport, perhaps of another
  // Endpoint), to be driven by this Endpoint from now on; would_block while there is none.
  virtual Result<std::unique_ptr<Connection>> try_accept(Listener& listener) = 0;

  virtual Result<MemoryKey> register_memory(void* data, std::size_t bytes, MemoryKind kind) = 0;
  // GPU memory that its driver exported as a DMA-BUF: `data` lies `offset` bytes into `fd`, which
  // may be closed afterwards. Code::invalid_argument: this transport cannot.
  virtual Result<MemoryKey> register_dmabuf(void* data, std::size_t bytes, std::uint64_t offset,
                                            int fd);
  virtual Status deregister_memory(MemoryKey key) = 0;

  // Progresses all connections and listeners, and writes up to out.size() completions. Returns
  // how many; what does not fit is kept for the next call.
  virtual std::size_t poll(std::span<Completion> out) = 0;

  // Blocks until poll() may have something to do or `timeout_us` passed. Spurious returns are
  // allowed. Safe beside any other call on this Endpoint.
  virtual void wait(std::int64_t timeout_us) = 0;

  virtual const Capabilities& capabilities() const = 0;
  virtual Counters counters() const = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;

  // The usable devices in a stable order; a failed Status says why there are none.
  virtual Result<std::vector<NicInfo>> probe() = 0;

  // `device` indexes probe()'s answer.
  virtual Result<std::unique_ptr<Endpoint>> open(int device) = 0;

  // Whether open_merged() takes these devices, 2..kMaxMergedDevices different ones.
  // Code::invalid_config: no, and why.
  virtual Status can_merge(std::span<const int> devices);
  // One Endpoint over several devices: its connections use all of them, and live while one of them
  // does. Precondition: can_merge(devices).
  virtual Result<std::unique_ptr<Endpoint>> open_merged(std::span<const int> devices);
};

}  // namespace thinwire::transports
