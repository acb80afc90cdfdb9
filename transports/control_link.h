// Control connections: those of another transport (TCP in the product) over which a transport
// introduces its connections, tells errors, and is the first to know when a peer is gone.
// Owner: an Endpoint and what is made from it; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transports/transport.h"

namespace thinwire::transports {

// What a transport's control messages begin with, and how to say that a peer's do not.
struct ControlFormat {
  std::uint32_t magic;
  std::uint16_t version;
  const char* foreign;        // another magic
  const char* other_version;  // another version
};

// One message: fields of a fixed size, which the transport lays out, and a blob of any size.
// docs/wire_format.md, "Control connections".
struct ControlFrame {
  static constexpr std::size_t kFieldBytes = 64;
  std::array<std::byte, kFieldBytes> fields{};
  std::vector<std::byte> blob;
};

class ControlLink;

// All control connections of an Endpoint.
class ControlLinks {
 public:
  // `control` outlives it.
  ControlLinks(const ControlFormat& format, Endpoint& control)
      : format_(format), control_(control) {}

  // Takes what the control connections completed, to their links.
  void poll();
  // Keeps a link whose owner is gone until its last message is out.
  void let_go(std::unique_ptr<ControlLink> link);
  bool is_quiet() const { return departing_.empty(); }

  const ControlFormat& format() const { return format_; }
  std::uint64_t enter(ControlLink* link);
  void leave(std::uint64_t number) { links_.erase(number); }

 private:
  const ControlFormat format_;
  Endpoint& control_;
  std::unordered_map<std::uint64_t, ControlLink*> links_;
  std::uint64_t next_ = 1;
  std::vector<std::unique_ptr<ControlLink>> departing_;
};

class ControlLink {
 public:
  ControlLink(ControlLinks& links, std::unique_ptr<Connection> connection);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  // would_block while being established, ok, or why it failed.
  Status state() const { return failure_.failed() ? failure_ : connection_->state(); }
  std::string_view peer_name() const { return connection_->peer_name(); }

  void send(ControlFrame frame);
  // Nothing that was given to send() is still to go out.
  bool is_quiet() const { return outgoing_.empty(); }

  // Posts what is to be posted. Completions come through completed().
  void progress();
  // One of this link's posts ended; `cookie` is what is left of it without the link's number.
  void completed(std::uint64_t cookie, const Completion& completion);

  bool has_frame() const { return !arrived_.empty(); }
  ControlFrame take_frame();

  // The completion cookies of all links of an endpoint: number of the link and a part.
  static constexpr int kCookieBits = 2;

 private:
  // Magic, version, reserved, length of the blob; then the fields.
  static constexpr std::size_t kPreludeBytes = 16 + ControlFrame::kFieldBytes;
  using Prelude = std::array<std::byte, kPreludeBytes>;
  enum Cookie : std::uint64_t { kSent, kPrelude, kBlob };
  struct Outgoing {
    Prelude prelude{};
    std::vector<std::byte> blob;
    int posted = 0;  // of its parts
    int finished = 0;
    int parts() const { return blob.empty() ? 1 : 2; }
  };
  void post_sends();
  void post_receive();
  void prelude_arrived();
  std::uint64_t cookie(Cookie part) const { return number_ << kCookieBits | part; }

  ControlLinks& links_;
  const std::uint64_t number_;
  std::deque<Outgoing> outgoing_;
  std::deque<ControlFrame> arrived_;
  Prelude prelude_{};
  ControlFrame incoming_;
  bool receiving_ = false;
  bool wants_blob_ = false;
  Status failure_;
  // Last: its posts refer to the buffers above.
  std::unique_ptr<Connection> connection_;
};

}  // namespace thinwire::transports
