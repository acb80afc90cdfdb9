// MemoryFabric: the network that memory transports of one process share, and its faults. For
// tests. Owner: the test; outlives every transport, endpoint and connection made on it. All
// methods may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"

namespace thinwire::transports::memory {

struct Core;

struct FabricOptions {
  int devices = 1;
  std::size_t window_bytes = std::size_t{4} << 20;  // unexpected bytes a connection holds
  int max_sends = 256;  // outstanding posts of a connection before would_block
  int max_receives = 4096;
  bool lends = false;  // every second message that may be borrowed is
};

enum class Corruption : std::uint8_t { flip_first_byte, drop_last_byte };

// What goes wrong, from set_faults() on. Everything is drawn from `seed` and counters, so a run in
// one thread repeats itself.
struct Faults {
  int refuse_every = 0;          // every k-th post answers would_block; 0: none
  int delay_polls = 0;           // a message arrives after 0..k polls of the receiving endpoint
  const Clock* clock = nullptr;  // with delay_ns: not before this much later on `clock`
  std::int64_t delay_ns = 0;
  bool reorder = false;               // messages of different tags overtake one another
  std::uint64_t corrupt_message = 0;  // the n-th message sent from now on; 0: none
  Corruption corruption = Corruption::flip_first_byte;
  std::uint64_t seed = 1;
};

class MemoryFabric {
 public:
  explicit MemoryFabric(const FabricOptions& options = {});
  ~MemoryFabric();

  void set_faults(const Faults& faults);

  // Fails every connection between the two devices, on both sides, with Code::peer_lost.
  void drop_link(int device, int other);
  // The machine behind `device` dies: fails all its connections, on both sides.
  void drop_device(int device);

  Core& core() { return *core_; }

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace thinwire::transports::memory
