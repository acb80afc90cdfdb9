// The devices of this process by the indices that NCCL knows: those of the transport, and behind
// them those that NCCL made of several (makeVDevice, v9 on). NCCL does that through each table by
// itself, CollNet first, and relies on equal names and indices: so the second table is given what
// the first one made, and each counts its own.
// Owner: Plugin. Any thread; a Device stays where it is.
#pragma once

#include <array>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/log.h"
#include "plugin/core.h"
#include "plugin/devices.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// What was made, in order. Lives longer than a Plugin, because NCCL keeps using the indices when it
// has finalized its last communicator and inits another (NCCL_NET_PLUGIN_REF_COUNT=1).
struct Merges {
  std::vector<std::vector<int>> members;
  std::array<std::size_t, 2> made{};  // of them, by table
};

class DeviceTable {
 public:
  // All references outlive the table.
  DeviceTable(std::vector<Device> physical, transports::Transport& transport, Merges& merges,
              const Log& log);

  // As NCCL's devices() of that table says.
  int count(Table table) const;
  // The highest index of all.
  int last() const;
  // Null: none.
  const Device* find(int dev) const;

  // The index of one device of two or more physical ones. Code::invalid_argument: they are not
  // there, or not different, or virtual. Code::invalid_config: they cannot be merged. Logged.
  Result<int> merge(Table table, std::span<const int> members);
  Result<std::unique_ptr<transports::Endpoint>> open(int dev);

 private:
  Status check(std::span<const int> members) const;
  void append(std::span<const int> members);
  // Of the physical devices, as merged_ids() wants them.
  std::vector<int> planes() const;
  std::vector<int> transport_indices(std::span<const int> members) const;

  transports::Transport& transport_;
  Merges& merges_;
  const Log& log_;
  mutable std::mutex mutex_;
  std::deque<Device> devices_;
  const std::size_t physical_;
};

}  // namespace thinwire::plugin
