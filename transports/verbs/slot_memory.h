// Memory of equal slots, registered with every device. Owner: a Channel; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "transports/verbs/device.h"
#include "transports/verbs/message.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {

class SlotMemory {
 public:
  // kSlots slots of kSlotBytes. Code::system_error: no memory, or it cannot be registered.
  static Result<std::unique_ptr<SlotMemory>> create(const Contexts& contexts);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  std::byte* at(std::uint32_t slot) const { return bytes_ + std::size_t{slot} * kSlotBytes; }
  const Keys& local_keys() const { return local_keys_; }

 private:
  explicit SlotMemory(const Contexts& contexts) : contexts_(contexts) {}

  const Contexts& contexts_;
  std::byte* bytes_ = nullptr;
  std::array<ibv_mr*, kMaxMergedDevices> mrs_{};
  Keys local_keys_{};
};

}  // namespace thinwire::transports::verbs
