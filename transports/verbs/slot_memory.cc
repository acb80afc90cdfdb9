#include "transports/verbs/slot_memory.h"

#include <errno.h>
#include <sys/mman.h>

namespace thinwire::transports::verbs {

namespace {
constexpr std::size_t kBytes = std::size_t{kSlots} * kSlotBytes;
}

Result<std::unique_ptr<SlotMemory>> SlotMemory::create(const Contexts& contexts) {
  std::unique_ptr<SlotMemory> memory(new SlotMemory(contexts));
  void* bytes = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return Status(Code::system_error, "no memory for slots", errno);
  memory->bytes_ = static_cast<std::byte*>(bytes);
  // A forked data loader must not make the pages that the device knows copies of themselves.
  ::madvise(bytes, kBytes, MADV_DONTFORK);
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const Context& context = *contexts[i];
    if (context.is_dead()) continue;
    ibv_mr* mr = context.api().reg_mr(context.domain(), bytes, kBytes, IBV_ACCESS_LOCAL_WRITE);
    if (mr == nullptr) {
      return Status(Code::system_error, "slots cannot be registered (ulimit -l?)", errno);
    }
    memory->mrs_[i] = mr;
    memory->local_keys_[i] = mr->lkey;
  }
  return memory;
}

SlotMemory::~SlotMemory() {
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (mrs_[i] != nullptr) contexts_[i]->api().dereg_mr(mrs_[i]);
  }
  if (bytes_ != nullptr) ::munmap(bytes_, kBytes);
}

}  // namespace thinwire::transports::verbs
