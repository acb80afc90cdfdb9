// Registered memory of equal slots. Owner: a Channel; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "transports/verbs/device.h"
#include "transports/verbs/message.h"

namespace thinwire::transports::verbs {

class SlotMemory {
 public:
  // kSlots slots of kSlotBytes. Code::system_error: no memory, or it cannot be registered.
  static Result<std::unique_ptr<SlotMemory>> create(const Context& context);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  std::byte* at(std::uint32_t slot) const { return bytes_ + std::size_t{slot} * kSlotBytes; }
  std::uint32_t local_key() const { return mr_->lkey; }

 private:
  explicit SlotMemory(const Context& context) : context_(context) {}

  const Context& context_;
  std::byte* bytes_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

}  // namespace thinwire::transports::verbs
