#include "transports/verbs/slot_memory.h"

#include <errno.h>
#include <sys/mman.h>

namespace thinwire::transports::verbs {

namespace {
constexpr std::size_t kBytes = std::size_t{kSlots} * kSlotBytes;
}

Result<std::unique_ptr<SlotMemory>> SlotMemory::create(const Context& context) {
  std::unique_ptr<SlotMemory> memory(new SlotMemory(context));
  void* bytes = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return Status(Code::system_error, "no memory for slots", errno);
  memory->bytes_ = static_cast<std::byte*>(bytes);
  // A forked data loader must not make the pages that the device knows copies of themselves.
  ::madvise(bytes, kBytes, MADV_DONTFORK);
  memory->mr_ = context.api().reg_mr(context.domain(), bytes, kBytes, IBV_ACCESS_LOCAL_WRITE);
  if (memory->mr_ == nullptr) {
    return Status(Code::system_error, "slots cannot be registered (ulimit -l?)", errno);
  }
  return memory;
}

SlotMemory::~SlotMemory() {
  if (mr_ != nullptr) context_.api().dereg_mr(mr_);
  if (bytes_ != nullptr) ::munmap(bytes_, kBytes);
}

}  // namespace thinwire::transports::verbs
