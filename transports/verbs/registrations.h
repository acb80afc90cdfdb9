// Memory that an Endpoint's device may use: a cache of regions of whole pages, so that many keys
// over the same memory cost one registration. Owner: an Endpoint; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transports/containers.h"
#include "transports/transport.h"
#include "transports/verbs/device.h"

namespace thinwire::transports::verbs {

// What a work request needs to know of registered memory.
struct Registered {
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  bool device_memory = false;  // the processor must not touch it
};

class Registrations {
 public:
  explicit Registrations(const Context& context);
  // Deregisters what is left.
  ~Registrations();
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // Code::system_error: the device does not take it (native: errno). Device memory needs
  // nvidia-peermem here.
  Result<MemoryKey> add(void* data, std::size_t bytes, MemoryKind kind);
  // Device memory that its driver exported as a DMA-BUF: `data` lies `offset` bytes into `fd`.
  Result<MemoryKey> add_dmabuf(void* data, std::size_t bytes, std::uint64_t offset, int fd);
  Status remove(MemoryKey key);

  // Null: not a key of this endpoint. Valid until the key is removed.
  const Registered* find(MemoryKey key) const;

  // Regions that the device holds.
  std::size_t regions() const;

 private:
  struct Region {
    ibv_mr* mr = nullptr;  // null: free
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
  Result<int> make_region(ibv_mr* mr, std::uintptr_t begin, std::uintptr_t end, bool shared);
  ibv_mr* register_pages(std::uintptr_t begin, std::uintptr_t end) const;
  MemoryKey make_key(int region, bool device_memory);

  const Context& context_;
  const std::uintptr_t page_bytes_;
  std::vector<Region> regions_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
};

}  // namespace thinwire::transports::verbs
