// Config: every setting of the product, parsed once, passed by const reference. A value.
//
// One constexpr table (config_table.h) names each variable with type, default, bounds, unit and
// help; it drives parsing, `thinwire info` and docs/configuration.md. Sources, strongest first:
// the environment, the file THINWIRE_CONF, /etc/thinwire.conf (KEY=value lines, # comments).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"

namespace thinwire {

enum class TransportChoice : std::uint8_t { automatic, tcp, ucx, verbs };
enum class ShmChoice : std::uint8_t { automatic, off };
enum class FeedbackChoice : std::uint8_t { automatic, off, all };
enum class IdentityChoice : std::uint8_t { profiler, buffer };
enum class ScheduleChoice : std::uint8_t {
  automatic,
  ring,
  direct,
  exchange,
  grid,
  hierarchical,
  tree
};
enum class ChecksumChoice : std::uint8_t { header, full };
enum class AddressFamily : std::uint8_t { any, ipv4, ipv6 };

// Sides of a grid of ranks, "4x8"; none: "auto".
struct GridShape {
  std::vector<int> sides;
};

struct Config {
  // Collectives: equal on all ranks, compared at CollNet connect.
  std::string compress = "none";                        // THINWIRE_COMPRESS: compression/policy.h
  std::int64_t compress_min_bytes = 16 * 1024;          // THINWIRE_COMPRESS_MIN_BYTES
  ScheduleChoice schedule = ScheduleChoice::automatic;  // THINWIRE_SCHEDULE
  GridShape grid;                                       // THINWIRE_GRID
  std::int64_t piece_bytes = 0;                         // THINWIRE_PIECE_BYTES, 0: chosen

  // Compression.
  std::int64_t compress_check = 0;                        // THINWIRE_COMPRESS_CHECK, 0 or 1
  std::int64_t compress_seed = 0;                         // THINWIRE_COMPRESS_SEED
  FeedbackChoice ef = FeedbackChoice::automatic;          // THINWIRE_EF
  std::int64_t ef_max_bytes = std::int64_t{4} << 30;      // THINWIRE_EF_MAX_BYTES
  IdentityChoice ef_identity = IdentityChoice::profiler;  // THINWIRE_EF_IDENTITY
  std::int64_t topk_without_ef = 0;                       // THINWIRE_TOPK_WITHOUT_EF, 0 or 1

  // Network.
  TransportChoice transport = TransportChoice::automatic;  // THINWIRE_TRANSPORT
  ShmChoice shm = ShmChoice::automatic;                    // THINWIRE_SHM

  // Topology.
  std::string hwloc_xml;     // THINWIRE_HWLOC_XML, "": the machine itself
  std::string cluster_file;  // THINWIRE_CLUSTER_FILE, "": none
  std::string tuning_file;   // THINWIRE_TUNING_FILE, "": built-in constants

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

  // RDMA verbs.
  std::int64_t verbs_queue_pairs = 2;  // THINWIRE_VERBS_QUEUE_PAIRS, for data, per connection

  // NCCL's own names.
  std::string socket_ifname;                         // NCCL_SOCKET_IFNAME
  AddressFamily socket_family = AddressFamily::any;  // NCCL_SOCKET_FAMILY
  std::string hostid;                                // NCCL_HOSTID
  std::string ib_hca;                                // NCCL_IB_HCA
  std::int64_t ib_gid_index = -1;                    // NCCL_IB_GID_INDEX, -1: by type
  std::int64_t ib_tc = 0;                            // NCCL_IB_TC
  std::int64_t ib_sl = 0;                            // NCCL_IB_SL
  std::int64_t ib_timeout = 16;                      // NCCL_IB_TIMEOUT, 4.096 us * 2^16
  std::int64_t ib_retry_cnt = 6;                     // NCCL_IB_RETRY_CNT
  std::int64_t ib_relaxed_ordering = 2;              // NCCL_IB_PCI_RELAXED_ORDERING, 0: off
  std::int64_t ib_adaptive_routing = -2;             // NCCL_IB_ADAPTIVE_ROUTING, -2: InfiniBand
  std::int64_t ib_ar_threshold = 8192;               // NCCL_IB_AR_THRESHOLD
  std::int64_t ib_ece = 1;                           // NCCL_IB_ECE_ENABLE
};

// One KEY=value list, as the environment holds it.
using EnvironmentList = std::vector<std::pair<std::string, std::string>>;

// The process's environment: the only place that reads it (lint forbids getenv elsewhere).
EnvironmentList process_environment();

// A grammar of a text setting that another folder owns.
struct TextCheck {
  std::string_view setting;
  std::string (*complaint)(std::string_view value);  // what is wrong and what is accepted; "": fine
};

// Reads files and `environment`. An invalid value is logged (variable, value, accepted range,
// file and line where it has one) and fails with Code::invalid_config; an unknown THINWIRE_ name
// is warned about with the nearest known one.
Result<Config> parse_config(const EnvironmentList& environment, const Log& log,
                            std::span<const TextCheck> checks = {});

// The settings that must be equal on all ranks, as "NAME=value" lines in table order.
std::vector<std::string> agreed_settings(const Config& config);

}  // namespace thinwire
