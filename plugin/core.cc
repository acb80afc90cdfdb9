// The functions of core.h that concern neither table alone: contexts, devices, counters.
#include "plugin/core.h"

#include <algorithm>
#include <exception>
#include <new>

#include "plugin/errors.h"
#include "plugin/process.h"

namespace thinwire::plugin {

namespace {
constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 40;  // NCCL refuses more
constexpr int kMaxComms = 65536;
}  // namespace

tw_nccl_result_t core_init(Table, void** ctx, std::uint64_t comm_id, int, tw_nccl_logger_t logger) {
  return to_nccl(process().open_context(logger, ctx, comm_id));
}

tw_nccl_result_t core_finalize(Table, void* ctx) { return to_nccl(process().close_context(ctx)); }

tw_nccl_result_t core_devices(Table table, int* count) {
  const Plugin* plugin = process().plugin();
  if (plugin == nullptr || count == nullptr) return tw_nccl_internal_error;
  *count = plugin->devices().count(table);
  return tw_nccl_success;
}

tw_nccl_result_t core_properties(Table table, int dev, Properties* properties) {
  Plugin* plugin = process().plugin();
  if (plugin == nullptr || properties == nullptr) return tw_nccl_internal_error;
  const Device* device = plugin->devices().find(dev);
  if (device == nullptr) {
    THINWIRE_WARN(process().log(), "getProperties: device %d, have 0 to %d", dev,
                  plugin->devices().last());
    return tw_nccl_internal_error;
  }
  const NicInfo& nic = device->nic;
  *properties = {
      .name = nic.name.c_str(),
      .pci_path = nic.pci_path.empty() ? nullptr : nic.pci_path.c_str(),
      .guid = nic.guid,
      .ptr_support = table == Table::net ? memory_types(nic) : tw_nccl_ptr_host,
      .reg_is_global = false,
      .force_flush = false,
      .speed_mbps = nic.speed_mbps,
      .port = nic.port,
      .latency_us = 0,
      .max_comms = kMaxComms,
      .max_recvs = transports::kMaxGroupedReceives,
      .max_p2p_bytes = kMaxMessageBytes,
      .max_coll_bytes = kMaxMessageBytes,
      .rail_id = static_cast<std::int16_t>(nic.ids.rail),
      .plane_id = static_cast<std::int16_t>(nic.ids.plane),
      .member_count = static_cast<int>(device->members.size()),
      .members = {},
  };
  std::ranges::copy(device->members, properties->members.begin());
  return tw_nccl_success;
}

tw_nccl_result_t core_threw() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    THINWIRE_WARN(process().log(), "%s", "out of memory");
    return tw_nccl_system_error;
  } catch (const std::exception& thrown) {
    THINWIRE_WARN(process().log(), "unexpected: %s", thrown.what());
  } catch (...) {
  }
  return tw_nccl_internal_error;
}

tw_nccl_result_t core_make_vdevice(Table table, int count, const int* members, int limit,
                                   int* dev) {
  Plugin* plugin = process().plugin();
  if (plugin == nullptr) return tw_nccl_internal_error;
  if (count < 2 || count > limit) {
    THINWIRE_WARN(process().log(), "makeVDevice: %d devices, accepted are 2 to %d", count, limit);
    return tw_nccl_invalid_usage;
  }
  const auto made = plugin->devices().merge(table, {members, static_cast<std::size_t>(count)});
  if (made.ok()) *dev = made.value();
  return to_nccl(made.status());
}

thinwire_counters_v1_t core_counters() {
  const transports::Counters moved = process().counters();
  const Tallies& tallies = process().tallies();
  thinwire_counters_v1_t out{};
  out.bytes_sent = moved.bytes_sent;
  out.payload_sent = moved.payload_sent;
  out.messages_sent = moved.messages_sent;
  out.unexpected_bytes = moved.unexpected_bytes;
  out.strangers_refused = moved.strangers_refused;
  out.sends = tallies.sends;
  out.receives = tallies.receives;
  out.all_reduces = tallies.all_reduces;
  out.all_gathers = tallies.all_gathers;
  out.reduce_scatters = tallies.reduce_scatters;
  out.flushes = tallies.flushes;
  const Profiler::Counts identities = process().profiler().counts();
  out.tensors_identified = identities.identified;
  out.tensors_unidentified = identities.unidentified;
  out.identities_switched_off = identities.switched_off;
  out.near_bytes = moved.near_bytes;
  return out;
}

}  // namespace thinwire::plugin
