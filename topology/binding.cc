#include "topology/binding.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "topology/sysfs.h"

namespace thinwire::topology {
namespace {

constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr int kMostNodes = 1024;

struct FreeCpus {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

std::size_t rounded_up(std::size_t bytes, std::size_t page) {
  return (bytes + page - 1) / page * page;
}

void prefer_node(void* memory, std::size_t bytes, int node) {
  if (node < 0 || node >= kMostNodes) return;
  constexpr int kBits = 8 * sizeof(unsigned long);
  unsigned long mask[kMostNodes / kBits] = {};
  mask[node / kBits] = 1UL << (node % kBits);
  // A kernel without NUMA and a container that may not say no: either way memory is where it is.
  (void)syscall(SYS_mbind, memory, bytes, kPreferred, mask, static_cast<unsigned long>(kMostNodes),
                0U);
}

}  // namespace

bool pin_this_thread(const CpuSet& cores) {
  if (cores.empty()) return false;
  const CpuSet allowed = allowed_cores();
  const CpuSet wanted = cores & allowed;
  if (wanted.empty() || wanted == allowed) return false;
  const std::size_t most = wanted.cpus().back() + 1;
  const std::unique_ptr<cpu_set_t, FreeCpus> set(CPU_ALLOC(most));
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set.get());
  for (const std::size_t cpu : wanted.cpus()) CPU_SET_S(cpu, bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

NodeMemory::NodeMemory(std::size_t bytes, int node) {
  if (bytes == 0) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = rounded_up(bytes, page);
  void* memory = mmap(nullptr, usable + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (mprotect(memory, usable, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, usable + page);
    return;
  }
  prefer_node(memory, usable, node);
  data_ = static_cast<std::byte*>(memory);
  mapped_bytes_ = usable + page;
}

NodeMemory::NodeMemory(NodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

NodeMemory& NodeMemory::operator=(NodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

NodeMemory::~NodeMemory() {
  if (data_ != nullptr) munmap(data_, mapped_bytes_);
}

}  // namespace thinwire::topology
