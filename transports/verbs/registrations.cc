#include "transports/verbs/registrations.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

namespace thinwire::transports::verbs {

namespace {
// The specification ties REMOTE_WRITE to LOCAL_WRITE. Relaxed ordering is an optional flag: where
// it is not known it has no effect. Data is only ever looked at after its completion, and that is
// what relaxed ordering leaves in place.
// Only a device itself reads remotely (loopback.h): the queue pairs of peers do not allow it.
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

int access_for(const Context& context) {
  const bool relaxed = context.settings().config.ib_relaxed_ordering != 0;
  return relaxed ? kAccess | IBV_ACCESS_RELAXED_ORDERING : kAccess;
}
}  // namespace

Registrations::Registrations(const Contexts& contexts)
    : contexts_(contexts), page_bytes_(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE))) {}

Registrations::~Registrations() {
  for (Region& region : regions_) release(region);
}

// The first error.
int Registrations::release(Region& region) const {
  int error = 0;
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (region.mrs[i] == nullptr) continue;
    const int its = contexts_[i]->api().dereg_mr(region.mrs[i]);
    if (error == 0) error = its;
  }
  region = {};
  return error;
}

int Registrations::find_region(std::uintptr_t begin, std::uintptr_t end) const {
  const auto at = std::ranges::find_if(regions_, [&](const Region& region) {
    return region.shared && region.begin <= begin && end <= region.end;
  });
  return at == regions_.end() ? -1 : static_cast<int>(at - regions_.begin());
}

template <class Make>
Result<int> Registrations::make_region(std::uintptr_t begin, std::uintptr_t end, bool shared,
                                       const Make& make) {
  Region region{true, {}, begin, end, 0, shared};
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (contexts_[i]->is_dead()) continue;
    region.mrs[i] = make(*contexts_[i]);
    if (region.mrs[i] != nullptr) continue;
    const int error = errno;
    contexts_[i]->take_events();  // perhaps it has just failed altogether
    if (contexts_[i]->is_dead()) continue;
    release(region);
    return Status(Code::system_error, "the memory cannot be registered", error);
  }
  auto at = std::ranges::find(regions_, false, &Region::live);
  if (at == regions_.end()) at = regions_.insert(at, Region{});
  *at = region;
  return static_cast<int>(at - regions_.begin());
}

MemoryKey Registrations::make_key(int region, bool device_memory) {
  std::uint32_t index = static_cast<std::uint32_t>(entries_.size());
  if (free_entries_.empty()) {
    entries_.emplace_back();
  } else {
    index = free_entries_.back();
    free_entries_.pop_back();
  }
  Entry& entry = entries_[index];
  entry.live = true;
  entry.region = region;
  entry.registered = {};
  entry.registered.device_memory = device_memory;
  if (region >= 0) {
    Region& its = regions_[static_cast<std::size_t>(region)];
    ++its.references;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      if (its.mrs[i] == nullptr) continue;
      entry.registered.local_keys[i] = its.mrs[i]->lkey;
      entry.registered.remote_keys[i] = its.mrs[i]->rkey;
    }
  }
  return MemoryKey{static_cast<std::uint64_t>(++entry.generation) << 32 | index};
}

Result<MemoryKey> Registrations::add(void* data, std::size_t bytes, MemoryKind kind) {
  const bool cuda = kind == MemoryKind::cuda;
  if (bytes == 0) return make_key(-1, cuda);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = address / page_bytes_ * page_bytes_;
  const std::uintptr_t end = (address + bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  if (const int known = find_region(begin, end); known >= 0) return make_key(known, cuda);
  const auto made = make_region(begin, end, true, [&](const Context& context) {
    return context.api().reg_mr(context.domain(), reinterpret_cast<void*>(begin), end - begin,
                                access_for(context));
  });
  if (!made.ok()) return made.status();
  return make_key(made.value(), cuda);
}

Result<MemoryKey> Registrations::add_dmabuf(void* data, std::size_t bytes, std::uint64_t offset,
                                            int fd) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto made = make_region(begin, begin + bytes, false, [&](const Context& context) {
    return context.api().reg_dmabuf_mr(context.domain(), offset, bytes, begin, fd,
                                       access_for(context));
  });
  if (!made.ok()) return made.status();
  return make_key(made.value(), true);
}

const Registered* Registrations::find(MemoryKey key) const {
  const std::uint64_t index = key.value & 0xffffffffu;
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  return entry.live && entry.generation == key.value >> 32 ? &entry.registered : nullptr;
}

Status Registrations::remove(MemoryKey key) {
  if (find(key) == nullptr) return {Code::invalid_argument, "not a key of this endpoint"};
  const auto index = static_cast<std::uint32_t>(key.value);
  Entry& entry = entries_[index];
  entry.live = false;
  free_entries_.push_back(index);
  if (entry.region < 0) return {};
  Region& region = regions_[static_cast<std::size_t>(entry.region)];
  if (--region.references > 0) return {};
  const int error = release(region);
  return error == 0 ? Status()
                    : Status(Code::system_error, "the memory cannot be deregistered", error);
}

std::size_t Registrations::regions() const {
  return static_cast<std::size_t>(std::ranges::count(regions_, true, &Region::live));
}

}  // namespace thinwire::transports::verbs
