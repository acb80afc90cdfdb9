// Posts made before a connection's channel can take them, in their order. Owner: a UcxConnection;
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "transports/transport.h"
#include "transports/ucx/channel.h"
#include "transports/ucx/finished.h"
#include "transports/ucx/registrations.h"

namespace thinwire::transports::ucx {

class EarlyPosts {
 public:
  // Of sends, and of receives.
  static constexpr std::size_t kMax = 512;

  // False: no room.
  bool add_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                std::uint64_t cookie) {
    if (sends_.size() >= kMax) return false;
    sends_.push_back({data, bytes, tag, memory, cookie});
    return true;
  }
  bool add_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
    if (receives_.size() >= kMax) return false;
    receives_.push_back({{buffers.begin(), buffers.end()}, cookie});
    return true;
  }
  bool has_sends() const { return !sends_.empty(); }

  void receive_through(Channel& channel) {
    for (const Receive& each : receives_) channel.receiver().post(each.buffers, each.cookie);
    receives_.clear();
  }
  // Sends what the channel takes now.
  void send_through(Channel& channel) {
    std::size_t sent = 0;
    while (sent < sends_.size()) {
      const Send& each = sends_[sent];
      const Status posted = channel.post_send(each.data, each.bytes, each.tag,
                                              Registrations::type_of(each.memory), each.cookie);
      if (!posted.ok()) break;
      ++sent;
    }
    sends_.erase(sends_.begin(), sends_.begin() + static_cast<std::ptrdiff_t>(sent));
  }

  // Completes all with `status`, as posts of `connection`.
  void fail(const Status& status, std::uint32_t connection, Finished& finished) {
    for (const Receive& each : receives_) finished.push(connection, {each.cookie, status, 0, {}});
    for (const Send& each : sends_) finished.push(connection, {each.cookie, status, 0, {}});
    receives_.clear();
    sends_.clear();
  }

 private:
  struct Send {
    const void* data;
    std::size_t bytes;
    std::uint64_t tag;
    MemoryKey memory;
    std::uint64_t cookie;
  };
  struct Receive {
    std::vector<ReceiveBuffer> buffers;
    std::uint64_t cookie;
  };
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
};

}  // namespace thinwire::transports::ucx
