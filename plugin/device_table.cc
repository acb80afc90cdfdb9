#include "plugin/device_table.h"

#include <algorithm>
#include <string>

#include "plugin/merged_ids.h"

namespace thinwire::plugin {

DeviceTable::DeviceTable(std::vector<Device> physical, transports::Transport& transport,
                         Merges& merges, const Log& log)
    : transport_(transport), merges_(merges), log_(log), physical_(physical.size()) {
  for (Device& device : physical) devices_.push_back(std::move(device));
  for (const std::vector<int>& members : merges_.members) {
    if (!check(members).ok()) {
      THINWIRE_WARN(log_, "the devices are not those that were merged before");
      merges_ = {};
      return;
    }
    append(members);
  }
}

int DeviceTable::count(Table table) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(physical_ + merges_.made[static_cast<std::size_t>(table)]);
}

int DeviceTable::last() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(devices_.size()) - 1;
}

const Device* DeviceTable::find(int dev) const {
  const std::lock_guard lock(mutex_);
  const bool is_there = dev >= 0 && static_cast<std::size_t>(dev) < devices_.size();
  return is_there ? &devices_[static_cast<std::size_t>(dev)] : nullptr;
}

std::vector<int> DeviceTable::transport_indices(std::span<const int> members) const {
  std::vector<int> indices;
  for (const int member : members) {
    indices.push_back(devices_[static_cast<std::size_t>(member)].transport_index);
  }
  return indices;
}

Status DeviceTable::check(std::span<const int> members) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] < 0 || static_cast<std::size_t>(members[i]) >= physical_) {
      THINWIRE_WARN(log_, "makeVDevice: device %d, accepted are the physical ones, 0 to %zu",
                    members[i], physical_ - 1);
      return {Code::invalid_argument, "makeVDevice: not a physical device", members[i]};
    }
    if (std::ranges::find(members.first(i), members[i]) != members.first(i).end()) {
      THINWIRE_WARN(log_, "makeVDevice: device %d is there twice", members[i]);
      return {Code::invalid_argument, "makeVDevice: a device is there twice", members[i]};
    }
  }
  // Not a warning: NCCL tries for every NIC with two ports, and goes on when it is refused.
  const Status possible = transport_.can_merge(transport_indices(members));
  if (!possible.ok()) THINWIRE_INFO(log_, "makeVDevice: %s", possible.text());
  return possible;
}

std::vector<int> DeviceTable::planes() const {
  std::vector<int> planes;
  for (std::size_t i = 0; i < physical_; ++i) planes.push_back(devices_[i].nic.ids.plane);
  return planes;
}

void DeviceTable::append(std::span<const int> members) {
  Device device = devices_[static_cast<std::size_t>(members[0])];
  device.members.assign(members.begin(), members.end());
  for (const int member : members.subspan(1)) {
    const NicInfo& nic = devices_[static_cast<std::size_t>(member)].nic;
    device.nic.name += "+" + nic.name;
    device.nic.speed_mbps += nic.speed_mbps;
    device.nic.speed_known &= nic.speed_known;
    device.nic.peer_memory &= nic.peer_memory;
    device.nic.dmabuf &= nic.dmabuf;
  }
  std::vector<RailIds> ids;
  for (const int member : members)
    ids.push_back(devices_[static_cast<std::size_t>(member)].nic.ids);
  device.nic.ids = merged_ids(ids, planes());
  devices_.push_back(std::move(device));
}

Result<int> DeviceTable::merge(Table table, std::span<const int> members) {
  const std::lock_guard lock(mutex_);
  if (const Status possible = check(members); !possible.ok()) return possible;
  std::size_t& made = merges_.made[static_cast<std::size_t>(table)];
  const std::size_t index = physical_ + made;
  if (index == devices_.size()) {
    append(members);
    merges_.members.emplace_back(members.begin(), members.end());
    const NicInfo& nic = devices_.back().nic;
    THINWIRE_INFO(log_, "device %zu: %s, %d Mb/s%s", index, nic.name.c_str(), nic.speed_mbps,
                  text_of(nic.ids).c_str());
  } else if (!std::ranges::equal(devices_[index].members, members)) {
    THINWIRE_WARN(log_, "makeVDevice: device %zu is %s already, through the other table", index,
                  devices_[index].nic.name.c_str());
    return Status(Code::invalid_config, "makeVDevice: the two tables differ");
  }
  ++made;
  return static_cast<int>(index);
}

Result<std::unique_ptr<transports::Endpoint>> DeviceTable::open(int dev) {
  const Device* device = find(dev);
  if (device == nullptr) return Status(Code::invalid_argument, "no such device", dev);
  if (device->members.empty()) return transport_.open(device->transport_index);
  std::vector<int> indices;
  {
    const std::lock_guard lock(mutex_);
    indices = transport_indices(device->members);
  }
  return transport_.open_merged(indices);
}

}  // namespace thinwire::plugin
