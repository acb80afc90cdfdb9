#include "transports/verbs/registrations.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

namespace thinwire::transports::verbs {

namespace {
// The specification ties REMOTE_WRITE to LOCAL_WRITE. Relaxed ordering is an optional flag: where
// it is not known it has no effect. Data is only ever looked at after its completion, and that is
// what relaxed ordering leaves in place.
constexpr int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
}  // namespace

Registrations::Registrations(const Context& context)
    : context_(context), page_bytes_(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE))) {}

Registrations::~Registrations() {
  for (const Region& region : regions_) {
    if (region.mr != nullptr) context_.api().dereg_mr(region.mr);
  }
}

int Registrations::find_region(std::uintptr_t begin, std::uintptr_t end) const {
  const auto at = std::ranges::find_if(regions_, [&](const Region& region) {
    return region.shared && region.begin <= begin && end <= region.end;
  });
  return at == regions_.end() ? -1 : static_cast<int>(at - regions_.begin());
}

ibv_mr* Registrations::register_pages(std::uintptr_t begin, std::uintptr_t end) const {
  return context_.api().reg_mr(context_.domain(), reinterpret_cast<void*>(begin), end - begin,
                               kAccess);
}

Result<int> Registrations::make_region(ibv_mr* mr, std::uintptr_t begin, std::uintptr_t end,
                                       bool shared) {
  if (mr == nullptr) return Status(Code::system_error, "the memory cannot be registered", errno);
  auto at = std::ranges::find(regions_, nullptr, &Region::mr);
  if (at == regions_.end()) at = regions_.insert(at, Region{});
  *at = {mr, begin, end, 0, shared};
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
  entry.registered = {0, 0, device_memory};
  if (region >= 0) {
    Region& its = regions_[static_cast<std::size_t>(region)];
    ++its.references;
    entry.registered.local_key = its.mr->lkey;
    entry.registered.remote_key = its.mr->rkey;
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
  const auto made = make_region(register_pages(begin, end), begin, end, true);
  if (!made.ok()) return made.status();
  return make_key(made.value(), cuda);
}

Result<MemoryKey> Registrations::add_dmabuf(void* data, std::size_t bytes, std::uint64_t offset,
                                            int fd) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  ibv_mr* mr = context_.api().reg_dmabuf_mr(context_.domain(), offset, bytes, begin, fd, kAccess);
  const auto made = make_region(mr, begin, begin + bytes, false);
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
  const int error = context_.api().dereg_mr(region.mr);
  region = {};
  return error == 0 ? Status()
                    : Status(Code::system_error, "the memory cannot be deregistered", error);
}

std::size_t Registrations::regions() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(regions_, [](const Region& region) { return region.mr != nullptr; }));
}

}  // namespace thinwire::transports::verbs
