#include "transports/memory/fabric.h"

#include "transports/memory/core.h"

namespace thinwire::transports::memory {
namespace {

constexpr Status kDropped{Code::peer_lost, "the link was dropped"};

template <class Matches>
void drop(Core& core, Matches matches) {
  const std::lock_guard lock(core.mutex);
  for (LinkEnd* end : core.links) {
    if (matches(end->inbox->device, end->peer_device)) fail_both(*end, kDropped);
  }
}

}  // namespace

MemoryFabric::MemoryFabric(const FabricOptions& options) : core_(std::make_unique<Core>(options)) {}

MemoryFabric::~MemoryFabric() = default;

void MemoryFabric::set_faults(const Faults& faults) {
  const std::lock_guard lock(core_->mutex);
  core_->faults = faults;
  core_->messages = 0;
  core_->posts = 0;
  core_->random.seed(faults.seed);
}

void MemoryFabric::drop_link(int device, int other) {
  drop(*core_, [&](int own, int peer) { return own == device && peer == other; });
}

void MemoryFabric::drop_device(int device) {
  drop(*core_, [&](int own, int) { return own == device; });
}

}  // namespace thinwire::transports::memory
