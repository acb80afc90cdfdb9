// ResidualStore: what encoding lost, kept for each tensor until it comes again (error feedback).
// Owner: one communicator's Engine; one thread. Memory is bounded.
//
// Source: Seide et al., "1-Bit Stochastic Gradient Descent", 2014; Karimireddy et al., "Error
// Feedback Fixes SignSGD", 2019. A tensor's residual starts at zero; it is this rank's own, so
// ranks need not agree on who has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/data_type.h"

namespace thinwire::compression {

// What must be the same from one time to the next.
struct ResidualKey {
  std::uint64_t tensor = 0;    // identity of the tensor's part
  std::uint64_t geometry = 0;  // hash of schedule, codec and operation: who encodes what
  std::size_t count = 0;       // elements
  DataType type{};
  bool operator==(const ResidualKey&) const = default;
};

// On a cache line, and on huge pages where the kernel has them: encoding with feedback reads and
// writes it alongside the elements.
void* allocate_residual(std::size_t bytes);
void free_residual(void* memory, std::size_t bytes);
template <class T>
struct ResidualAllocator {
  using value_type = T;
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_residual(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { free_residual(memory, count * sizeof(T)); }
  bool operator==(const ResidualAllocator&) const = default;
};
using ResidualValues = std::vector<float, ResidualAllocator<float>>;

// One tensor's residual. Stays where it is while it is pinned.
struct Residual {
  ResidualKey key;
  ResidualValues values;  // empty until the tensor has recurred
  // Top-k's memory (EncodeContext::limit), one for each encoding; 0: none.
  std::vector<std::uint32_t> limits;
  std::size_t valid = 0;  // elements, of those given at the last find()
  std::uint64_t seen = 0;
  std::uint64_t last_used = 0;
  int pins = 0;
};

struct ResidualStats {
  std::uint64_t tensors = 0;    // that have a residual now
  std::uint64_t bytes = 0;      // of memory that they take
  std::uint64_t hits = 0;       // calls that got one
  std::uint64_t misses = 0;     // calls that got none: new, or out of memory
  std::uint64_t resets = 0;     // set to zero because a tensor's valid length changed
  std::uint64_t evictions = 0;  // given up for others
  double norm = 0;              // Euclidean, of all residuals: costs a pass over the memory
};

class ResidualStore {
 public:
  // A tensor gets memory when it is seen for the `recurrences`-th time: 1 is at once.
  ResidualStore(std::size_t max_bytes, int recurrences)
      : max_bytes_(max_bytes), recurrences_(static_cast<std::uint64_t>(recurrences)) {}

  // `floats` and `limits`: how many of these the residual of this tensor has. Null: none yet, or no
  // memory for it, which is no error. The result is pinned: unpin() it when the call that uses it
  // is done. A changed `valid` sets it to zero: the tensor is another.
  Residual* find_and_pin(const ResidualKey& key, std::size_t floats, std::size_t limits,
                         std::size_t valid);
  void unpin(Residual* residual) { --residual->pins; }

  ResidualStats stats() const;

 private:
  struct Hash {
    std::size_t operator()(const ResidualKey& key) const;
  };
  using Entries = std::list<Residual>;  // most recently used first

  Entries::iterator touch(const ResidualKey& key);
  bool make_room(std::size_t bytes, std::uint64_t unused_since);
  void forget_the_oldest();

  const std::size_t max_bytes_;
  const std::uint64_t recurrences_;
  std::uint64_t clock_ = 0;  // calls
  Entries entries_;
  std::unordered_map<ResidualKey, Entries::iterator, Hash> index_;
  std::size_t bytes_ = 0;
  ResidualStats counts_;
};

}  // namespace thinwire::compression
