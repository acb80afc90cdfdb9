// CpuSet: a set of logical CPUs by the operating system's numbers. A value; pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinwire::topology {

class CpuSet {
 public:
  static constexpr std::size_t kMaxCpus = 1 << 16;

  CpuSet() = default;

  // "0-3,8,10-11", as sysfs and taskset write lists; "" is the empty set. nullopt when malformed
  // or above kMaxCpus.
  static std::optional<CpuSet> from_list(std::string_view text);

  // "0x0000ffff,,0x1": 32-bit words, highest first, empty ones zero, as hwloc writes bitmaps.
  // nullopt when malformed, endless ("0xf...f") or above kMaxCpus.
  static std::optional<CpuSet> from_mask(std::string_view text);

  void add(std::size_t cpu);  // ignored from kMaxCpus on
  bool contains(std::size_t cpu) const;
  bool empty() const { return words_.empty(); }
  std::size_t count() const;
  std::vector<std::size_t> cpus() const;

  CpuSet operator&(const CpuSet& other) const;
  CpuSet operator|(const CpuSet& other) const;
  bool operator==(const CpuSet& other) const = default;

  // "0-3,8"
  std::string list() const;
  // "0000ffff,00000001": 32-bit words, highest first, as NCCL's affinity attribute wants it.
  std::string mask() const;

 private:
  void trim();
  std::vector<std::uint64_t> words_;  // no trailing zero words, so that == compares sets
};

}  // namespace thinwire::topology
