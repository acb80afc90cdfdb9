// The sending half of a connection: copies messages into chunks of its lane, in order.
// Owner: a ShmConnection; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/shm/lane.h"

namespace thinwire::transports::shm {

class Sender {
 public:
  Sender(std::uint32_t connection, Finished& finished);

  // From now on it sends. `lane` is mapped until this is destroyed.
  void wire(Lane& lane) { lane_ = &lane; }
  // The receiver can fetch long messages from this process's memory.
  void expose_long_messages() { exposes_ = true; }

  // Takes the message, into the lane at once where it has room. would_block: too many wait.
  Status post(const void* data, std::size_t bytes, std::uint64_t tag, std::uint64_t cookie);
  // Takes back chunks, and writes what waits for them. True when anything moved.
  bool progress();
  // progress() would do something.
  bool has_work() const;
  // Something is posted and not completed.
  bool is_busy() const { return !waiting_.empty() || free_exposures_.size() < kExposures; }
  bool wrote() { return std::exchange(wrote_, false); }
  // Completes what is outstanding with `status`.
  void fail(const Status& status);

  // The receiver returned what it never had.
  bool is_corrupt() const { return corrupt_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t entries() const { return written_; }

 private:
  struct Post {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t written = 0;
    std::uint64_t tag = 0;
    std::uint64_t cookie = 0;
  };
  // False while the lane is full.
  bool write(Post& post);
  bool expose(const Post& post);
  // kChunks: none is free.
  std::uint32_t take_chunk(std::size_t bytes);
  bool has_entry();
  void push(const Entry& entry);
  void finish(const Post& post);
  bool take_returns();

  const std::uint32_t connection_;
  Finished& finished_;
  Lane* lane_ = nullptr;
  bool exposes_ = false;
  bool wrote_ = false;
  bool corrupt_ = false;
  Ring<Post> waiting_;
  std::vector<std::uint32_t> free_small_;
  std::vector<std::uint32_t> free_large_;
  std::vector<std::uint32_t> free_exposures_;
  std::array<Post, kExposures> exposed_{};
  std::uint64_t written_ = 0;
  std::uint64_t taken_ = 0;  // as last seen
  std::uint64_t returned_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace thinwire::transports::shm
