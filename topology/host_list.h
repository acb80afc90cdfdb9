// Host lists in Slurm's notation: "node[1-4,7],login", "r[1-2]n[01-04]". Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace thinwire::topology {

inline constexpr std::size_t kMaxListedHosts = 65536;

struct HostList {
  std::vector<std::string> names;  // in the order of the text, repetitions included
  std::string error;               // not empty: why the text is no host list; then no names
};

// Ranges keep leading zeros: n[08-10] is n08, n09, n10. Several brackets multiply, the last one
// fastest. At most kMaxListedHosts names. Source: scontrol(1), "hostlist expressions".
HostList expand_host_list(std::string_view text);

}  // namespace thinwire::topology
