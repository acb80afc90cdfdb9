// Config: every setting of the product, parsed once, passed by const reference. A value.
//
// One constexpr table (config_table.h) names each variable with type, default, bounds, unit and
// help; it drives parsing, `thinwire info` and docs/configuration.md. Sources, strongest first:
// the environment, the file THINWIRE_CONF, /etc/thinwire.conf (KEY=value lines, # comments).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"

namespace thinwire {

enum class TransportChoice : std::uint8_t { automatic, tcp, ucx };
enum class CompressChoice : std::uint8_t { none, fp16, int8 };
enum class ScheduleChoice : std::uint8_t { automatic, ring, direct, grid, tree };
enum class ChecksumChoice : std::uint8_t { header, full };
enum class AddressFamily : std::uint8_t { any, ipv4, ipv6 };

// Sides of a grid of ranks, "4x8"; none: "auto".
struct GridShape {
  std::vector<int> sides;
};

struct Config {
  // Collectives: equal on all ranks, compared at CollNet connect.
  CompressChoice compress = CompressChoice::none;       // THINWIRE_COMPRESS
  std::int64_t compress_min_bytes = 16 * 1024;          // THINWIRE_COMPRESS_MIN_BYTES
  ScheduleChoice schedule = ScheduleChoice::automatic;  // THINWIRE_SCHEDULE
  GridShape grid;                                       // THINWIRE_GRID
  std::int64_t piece_bytes = 128 * 1024;                // THINWIRE_PIECE_BYTES

  // Network.
  TransportChoice transport = TransportChoice::automatic;  // THINWIRE_TRANSPORT

  // Topology.
  std::string hwloc_xml;     // THINWIRE_HWLOC_XML, "": the machine itself
  std::string cluster_file;  // THINWIRE_CLUSTER_FILE, "": none

  // Time.
  std::int64_t connect_timeout_s = 120;  // THINWIRE_CONNECT_TIMEOUT_S
  std::int64_t peer_timeout_s = 10;      // THINWIRE_PEER_TIMEOUT_S
  std::int64_t heartbeat_s = 0;          // THINWIRE_HEARTBEAT_S, 0 = off
  std::int64_t workers = 0;              // progress threads per communicator    THINWIRE_WORKERS

  // TCP.
  std::int64_t tcp_streams = 0;  // sockets per connection, 0: from the link speed
  std::int64_t tcp_chunk_bytes = 256 * 1024;
  std::int64_t tcp_window_bytes = 4 * 1024 * 1024;
  std::int64_t tcp_socket_buffer_bytes = 0;  // 0: the kernel's autotuning
  ChecksumChoice tcp_checksum = ChecksumChoice::header;
  std::string tcp_congestion;  // "": the system's

  // NCCL's own names.
  std::string socket_ifname;                         // NCCL_SOCKET_IFNAME
  AddressFamily socket_family = AddressFamily::any;  // NCCL_SOCKET_FAMILY
  std::string hostid;                                // NCCL_HOSTID
};

// One KEY=value list, as the environment holds it.
using EnvironmentList = std::vector<std::pair<std::string, std::string>>;

// The process's environment: the only place that reads it (lint forbids getenv elsewhere).
EnvironmentList process_environment();

// Reads files and `environment`. An invalid value is logged (variable, value, accepted range,
// file and line where it has one) and fails with Code::invalid_config; an unknown THINWIRE_ name
// is warned about with the nearest known one.
Result<Config> parse_config(const EnvironmentList& environment, const Log& log);

// The settings that must be equal on all ranks, as "NAME=value" lines in table order.
std::vector<std::string> agreed_settings(const Config& config);

}  // namespace thinwire
