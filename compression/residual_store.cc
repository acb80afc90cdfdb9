#include "compression/residual_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <new>
#include <utility>

namespace thinwire::compression {
namespace {

// Tensors that are remembered without memory of their own; a large model has a few thousand parts.
constexpr std::size_t kMostEntries = 65536;

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace

void* allocate_residual(std::size_t bytes) {
  void* const memory = ::operator new(bytes, alignment_of(bytes));
  // A wish: where it is not heard, small pages do. No more than whole ones, so that nothing else
  // changes.
  if (bytes >= kHugePage) (void)::madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

void free_residual(void* memory, std::size_t bytes) {
  ::operator delete(memory, alignment_of(bytes));
}

std::size_t ResidualStore::Hash::operator()(const ResidualKey& key) const {
  return mix(mix(mix(key.tensor, key.geometry), key.count), static_cast<std::uint64_t>(key.type));
}

ResidualStore::Entries::iterator ResidualStore::touch(const ResidualKey& key) {
  if (const auto found = index_.find(key); found != index_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second;
  }
  if (entries_.size() >= kMostEntries) forget_the_oldest();
  entries_.emplace_front().key = key;
  index_.emplace(key, entries_.begin());
  return entries_.begin();
}

Residual* ResidualStore::find_and_pin(const ResidualKey& key, std::size_t floats,
                                      std::size_t limits, std::size_t valid) {
  ++clock_;
  const Entries::iterator entry = touch(key);
  Residual& residual = *entry;
  const std::uint64_t before = std::exchange(residual.last_used, clock_);
  ++residual.seen;
  const std::size_t bytes = floats * sizeof(float);
  if (residual.values.empty()) {
    residual.valid = valid;
    const bool worthwhile = residual.seen >= recurrences_ && floats > 0;
    if (!worthwhile || !make_room(bytes, before)) {
      ++counts_.misses;
      return nullptr;
    }
    residual.values.resize(floats);
    residual.limits.resize(limits);
    bytes_ += bytes;
  } else if (residual.valid != valid) {
    std::ranges::fill(residual.values, 0.0f);
    std::ranges::fill(residual.limits, 0u);
    residual.valid = valid;
    ++counts_.resets;
  }
  ++counts_.hits;
  ++residual.pins;
  return &residual;
}

// Gives up residuals that were not used since then: whoever has to give way to a tensor that comes
// more seldom would only be missed, and a set of tensors that does not fit would lose all of them.
bool ResidualStore::make_room(std::size_t bytes, std::uint64_t unused_since) {
  if (bytes > max_bytes_) return false;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && bytes_ + bytes > max_bytes_;
       ++entry) {
    if (entry->last_used >= unused_since) return false;
    if (entry->values.empty() || entry->pins > 0) continue;
    bytes_ -= entry->values.size() * sizeof(float);
    entry->values = {};
    entry->limits = {};
    entry->seen = 0;
    ++counts_.evictions;
  }
  return bytes_ + bytes <= max_bytes_;
}

void ResidualStore::forget_the_oldest() {
  for (auto entry = std::prev(entries_.end()); entry != entries_.begin(); --entry) {
    if (entry->pins > 0) continue;
    bytes_ -= entry->values.size() * sizeof(float);
    index_.erase(entry->key);
    entries_.erase(entry);
    return;
  }
}

ResidualStats ResidualStore::stats() const {
  ResidualStats stats = counts_;
  stats.bytes = bytes_;
  double squares = 0;
  for (const Residual& residual : entries_) {
    if (!residual.values.empty()) ++stats.tensors;
    for (const float value : residual.values) squares += static_cast<double>(value) * value;
  }
  stats.norm = std::sqrt(squares);
  return stats;
}

}  // namespace thinwire::compression
