#include "transports/verbs/words.h"

#include <arpa/inet.h>

#include <array>

namespace thinwire::transports::verbs {

namespace {

constexpr const char* kUnknown = "unknown to this version";

constexpr std::array<const char*, 23> kStatusWords{
    "success",
    "local length error: a message was longer than its receive slot",
    "local QP operation error: the device refused a work request",
    "local end-to-end context error",
    "local protection error: the memory is not registered, or no longer",
    "flushed: the queue pair had failed before",
    "memory window bind error",
    "bad response from the peer's device",
    "local access error: a receive slot is not registered, or no longer",
    "remote invalid request: the peer's device refused the operation",
    "remote access error: the peer's memory is not registered, or no longer",
    "remote operation error: the peer's device could not finish",
    "transport retry counter exceeded: peer unreachable, its port or process gone, or a GID, MTU "
    "or VLAN mismatch",
    "receiver-not-ready retry counter exceeded: the peer posts no receives",
    "local reliable-datagram domain violation",
    "remote invalid reliable-datagram request",
    "remote aborted",
    "invalid end-to-end context number",
    "invalid end-to-end context state",
    "fatal error of the device",
    "response timeout",
    "general error",
    "tag matching error",
};

constexpr std::array<const char*, 20> kEventWords{
    "completion queue error: it overflowed or the device failed",
    "queue pair fatal error",
    "queue pair request error",
    "queue pair access error: the peer wrote where it may not",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration failed",
    "device fatal error: it must be reset",
    "port is up",
    "port is down: link lost, cable or switch",
    "the port's LID changed",
    "the port's partition keys changed",
    "the subnet manager changed",
    "shared receive queue error",
    "shared receive queue limit reached",
    "last work request of the queue pair reached",
    "the subnet manager asks clients to register again",
    "the port's GID table changed: an address was added or removed",
    "work queue fatal error",
};

template <std::size_t kCount>
const char* word(const std::array<const char*, kCount>& words, int index) {
  const auto at = static_cast<std::size_t>(index);
  return index >= 0 && at < kCount ? words[at] : kUnknown;
}

bool is_mapped_ipv4(const ibv_gid& gid) {
  constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  for (std::size_t i = 0; i < kPrefix.size(); ++i) {
    if (gid.raw[i] != kPrefix[i]) return false;
  }
  return true;
}

}  // namespace

const char* words_of(ibv_wc_status status) { return word(kStatusWords, status); }
const char* words_of(ibv_event_type event) { return word(kEventWords, event); }

const char* words_of(ibv_port_state state) {
  constexpr std::array<const char*, 6> kStates{"no change", "down",   "initialising",
                                               "armed",     "active", "active, link deferred"};
  return word(kStates, state);
}

std::string text_of(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = is_mapped_ipv4(gid);
  ::inet_ntop(ipv4 ? AF_INET : AF_INET6, gid.raw + (ipv4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

int speed_mbps(unsigned active_speed, unsigned active_width) {
  int lane = 0;
  switch (active_speed) {
    case 1:
      lane = 2500;
      break;
    case 2:
      lane = 5000;
      break;
    case 4:
    case 8:
      lane = 10000;
      break;
    case 16:
      lane = 14000;
      break;
    case 32:
      lane = 25000;
      break;
    case 64:
      lane = 50000;
      break;
    case 128:
      lane = 100000;
      break;
    default:
      break;
  }
  switch (active_width) {
    case 1:
      return lane;
    case 2:
      return 4 * lane;
    case 4:
      return 8 * lane;
    case 8:
      return 12 * lane;
    case 16:
      return 2 * lane;
    default:
      return 0;
  }
}

}  // namespace thinwire::transports::verbs
