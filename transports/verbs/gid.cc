#include "transports/verbs/gid.h"

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

bool is_link_local(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

bool is_ipv4(const ibv_gid& gid) { return text_of(gid).find(':') == std::string::npos; }

bool is_empty(const ibv_gid& gid) {
  return gid.global.subnet_prefix == 0 && gid.global.interface_id == 0;
}

// Lower is better.
int rank_of(const ibv_gid_entry& entry) {
  switch (entry.gid_type) {
    case IBV_GID_TYPE_ROCE_V2:
      if (is_ipv4(entry.gid)) return 0;
      return is_link_local(entry.gid) ? 2 : 1;
    case IBV_GID_TYPE_ROCE_V1:
      return is_ipv4(entry.gid) ? 3 : 4;
    default:
      return 0;
  }
}

std::string reason_of(const ibv_gid_entry& entry) {
  std::string text = "GID " + std::to_string(entry.gid_index) + ", " + text_of(entry.gid);
  if (entry.gid_type == IBV_GID_TYPE_IB) return text + ", InfiniBand";
  text += entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? ", RoCEv2, " : ", RoCEv1, ";
  if (is_ipv4(entry.gid)) return text + "IPv4";
  return text + (is_link_local(entry.gid) ? "link-local" : "IPv6");
}

}  // namespace

Result<ChosenGid> choose_gid(std::span<const ibv_gid_entry> table, std::uint32_t port, int wanted) {
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& entry : table) {
    if (entry.port_num != port || is_empty(entry.gid)) continue;
    if (wanted >= 0) {
      if (entry.gid_index == static_cast<std::uint32_t>(wanted)) best = &entry;
    } else if (best == nullptr || rank_of(entry) < rank_of(*best)) {
      best = &entry;
    }
  }
  if (best == nullptr) {
    return wanted >= 0
               ? Status(Code::invalid_config,
                        "NCCL_IB_GID_INDEX names no valid entry of the port's GID table", wanted)
               : Status(Code::system_error, "the port has no GID: no address is set");
  }
  return ChosenGid{best->gid, static_cast<int>(best->gid_index), best->ndev_ifindex,
                   reason_of(*best)};
}

}  // namespace thinwire::transports::verbs
