// Memory that an Endpoint's devices may use: a cache of regions of whole pages, so that many keys
// over the same memory cost one registration with each device. Owner: an Endpoint; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "transports/containers.h"
#include "transports/transport.h"
#include "transports/verbs/device.h"

namespace thinwire::transports::verbs {

// One for each member of an Endpoint; 0 where there is none.
using Keys = std::array<std::uint32_t, kMaxMergedDevices>;

// What a work request needs to know of registered memory.
struct Registered {
  Keys local_keys{};
  Keys remote_keys{};
  bool device_memory = false;  // the processor must not touch it
};

class Registrations {
 public:
  explicit Registrations(const Contexts& contexts);
  // Deregisters what is left.
  ~Registrations();
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // Code::system_error: a device does not take it (native: errno); one that failed altogether is
  // left out. Device memory needs nvidia-peermem here.
  Result<MemoryKey> add(void* data, std::size_t bytes, MemoryKind kind);
  // Device memory that its driver exported as a DMA-BUF: `data` lies `offset` bytes into `fd`.
  Result<MemoryKey> add_dmabuf(void* data, std::size_t bytes, std::uint64_t offset, int fd);
  Status remove(MemoryKey key);

  // Null: not a key of this endpoint. Stays where it is until the key is removed.
  const Registered* find(MemoryKey key) const;

  // Regions that the devices hold.
  std::size_t regions() const;

 private:
  struct Region {
    bool live = false;
    std::array<ibv_mr*, kMaxMergedDevices> mrs{};
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    int references = 0;
    bool shared = false;  // may serve other keys
  };
  struct Entry {
    Registered registered;
    int region = -1;  // -1: nothing to register
    bool live = false;
    std::uint32_t generation = 0;
  };
  int find_region(std::uintptr_t begin, std::uintptr_t end) const;
  // `make` registers it with one device; null: errno says why not.
  template <class Make>
  Result<int> make_region(std::uintptr_t begin, std::uintptr_t end, bool shared, const Make& make);
  int release(Region& region) const;
  MemoryKey make_key(int region, bool device_memory);

  const Contexts& contexts_;
  const std::uintptr_t page_bytes_;
  std::vector<Region> regions_;
  std::deque<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
};

}  // namespace thinwire::transports::verbs
