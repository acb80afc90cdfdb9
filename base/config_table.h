// The one table of settings: what each is called, what it accepts, what it means.
//
// Drives parsing (config.cc), the agreement between ranks, `thinwire info`, /etc/thinwire.conf and
// docs/configuration.md. Defaults are Config's member initialisers. Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/setting.h"
#include "base/status.h"

namespace thinwire {

inline constexpr std::string_view kConfigFileVariable = "THINWIRE_CONF";
inline constexpr std::string_view kSystemConfigFile = "/etc/thinwire.conf";

inline constexpr std::array<std::string_view, 3> kTransportChoices{"auto", "tcp", "ucx"};
inline constexpr std::array<std::string_view, 3> kCompressChoices{"none", "fp16", "int8"};
inline constexpr std::array<std::string_view, 5> kScheduleChoices{"auto", "ring", "direct", "grid",
                                                                  "tree"};
inline constexpr std::array<std::string_view, 2> kChecksumChoices{"header", "full"};
inline constexpr std::array<std::string_view, 3> kFamilyChoices{"any", "AF_INET", "AF_INET6"};

inline constexpr std::array kSettings{
    Setting{.section = "Collectives",
            .name = "THINWIRE_COMPRESS",
            .field = &Config::compress,
            .choices = kCompressChoices,
            .agreed = true,
            .help = "What floating-point sums travel as. none: exact. fp16: half the bytes of "
                    "float32. int8: about a quarter, one scale per block. The other types and "
                    "operations, and all point-to-point traffic, always travel exactly."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_COMPRESS_MIN_BYTES",
            .field = &Config::compress_min_bytes,
            .maximum = kGiB,
            .unit = Unit::bytes,
            .agreed = true,
            .help = "Shorter vectors stay exact."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_SCHEDULE",
            .field = &Config::schedule,
            .choices = kScheduleChoices,
            .agreed = true,
            .help =
                "Who sends what to whom. ring: neighbours only, 2(n-1) steps. direct: every rank "
                "reduces 1/n of the vector, two steps. grid: rings along rows, then columns; see "
                "THINWIRE_GRID. tree: 2 log2(n) steps, for short vectors. auto: direct up to 64 "
                "ranks where sums are compressed or converted, and for exact vectors up to 256 KiB "
                "on up to 8 ranks; else ring."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_GRID",
            .field = &Config::grid,
            .agreed = true,
            .help = "Shape of THINWIRE_SCHEDULE=grid. 4x8: 4 rows of 8 neighbouring ranks; 2x4x8: "
                    "two of these; the product must be the number of ranks. auto: about as many "
                    "rows as columns, for any number of ranks, each row within a rack where racks "
                    "are known and of one size."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_PIECE_BYTES",
            .field = &Config::piece_bytes,
            .minimum = 4 * kKiB,
            .maximum = 16 * kMiB,
            .unit = Unit::bytes,
            .agreed = true,
            .help = "Longest piece of a vector that one step moves or reduces. Smaller pieces "
                    "pipeline better, larger ones cost less per byte."},
    Setting{.section = "Network",
            .name = "THINWIRE_TRANSPORT",
            .field = &Config::transport,
            .choices = kTransportChoices,
            .agreed = true,
            .help = "What moves the bytes. tcp: sockets. ucx: UCX (libucp.so.0, 1.13 or newer) as "
                    "its own variables configure it, with TCP for set-up and errors; experimental, "
                    "only in builds with -DTHINWIRE_UCX=ON. auto: tcp."},
    Setting{.section = "Topology",
            .name = "THINWIRE_HWLOC_XML",
            .field = &Config::hwloc_xml,
            .help = "File that describes this machine, as hwloc's lstopo writes it (XML), for "
                    "machines that hide what they are. Empty: ask the machine itself."},
    Setting{.section = "Topology",
            .name = "THINWIRE_CLUSTER_FILE",
            .field = &Config::cluster_file,
            .help = "File that says which hosts share a leaf switch or rack: Slurm's topology.conf "
                    "or lines such as rack1: node[1-4,7] (docs/topology.md). The same on every "
                    "host. Empty: nothing is known."},
    Setting{.section = "Time",
            .name = "THINWIRE_CONNECT_TIMEOUT_S",
            .field = &Config::connect_timeout_s,
            .minimum = 1,
            .maximum = 86400,
            .unit = Unit::seconds,
            .help = "Bound of every set-up step. Setting up a communicator fails on all ranks "
                    "within this time when one of them is missing."},
    Setting{.section = "Time",
            .name = "THINWIRE_PEER_TIMEOUT_S",
            .field = &Config::peer_timeout_s,
            .minimum = 1,
            .maximum = 3600,
            .unit = Unit::seconds,
            .help = "How long a host may leave the network's own keepalive unanswered before its "
                    "ranks count as lost. A rank that is merely late is never an error."},
    Setting{.section = "Time",
            .name = "THINWIRE_HEARTBEAT_S",
            .field = &Config::heartbeat_s,
            .maximum = 3600,
            .unit = Unit::seconds,
            .help =
                "Interval of heartbeats that find stopped processes. 0: off. Above 0 there is at "
                "least one worker, which answers while the rank computes."},
    Setting{
        .section = "Time",
        .name = "THINWIRE_WORKERS",
        .field = &Config::workers,
        .maximum = 64,
        .help = "Progress threads of the plugin. 0: NCCL's own progress thread does all the work."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_STREAMS",
            .field = &Config::tcp_streams,
            .maximum = 64,
            .help = "Sockets per connection. 0: chosen from the link speed, 1 (up to 1 Gbit/s), 2 "
                    "(10), 4 (50) or 8; 1 within a host."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_CHUNK_BYTES",
            .field = &Config::tcp_chunk_bytes,
            .minimum = 4 * kKiB,
            .maximum = 16 * kMiB,
            .unit = Unit::bytes,
            .help = "Longest part of a message that is given to one socket at a time."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_WINDOW_BYTES",
            .field = &Config::tcp_window_bytes,
            .minimum = 64 * kKiB,
            .maximum = kGiB,
            .unit = Unit::bytes,
            .help = "How many bytes one connection keeps in flight and buffers for receives that "
                    "are not posted yet. At least THINWIRE_TCP_CHUNK_BYTES."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_SOCKET_BUFFER_BYTES",
            .field = &Config::tcp_socket_buffer_bytes,
            .maximum = kGiB,
            .unit = Unit::bytes,
            .help = "Size of each socket's send and receive buffer. 0: the kernel's automatic "
                    "sizing. Below about 64 KiB throughput collapses."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_CHECKSUM",
            .field = &Config::tcp_checksum,
            .choices = kChecksumChoices,
            .help = "What CRC32C covers. header: the frame headers. full: the payload too."},
    Setting{.section = "TCP",
            .name = "THINWIRE_TCP_CONGESTION",
            .field = &Config::tcp_congestion,
            .help =
                "Congestion control of the sockets; one the kernel does not offer is warned about "
                "and not used. Empty: the system's."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_SOCKET_IFNAME",
            .field = &Config::socket_ifname,
            .help = "Interfaces to use: a comma list of name prefixes; =name means exactly that "
                    "name; a leading ^ excludes. Empty: all but loopback and bridges of container "
                    "engines."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_SOCKET_FAMILY",
            .field = &Config::socket_family,
            .choices = kFamilyChoices,
            .help = "Address family of the connections."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_HOSTID",
            .field = &Config::hostid,
            .help = "Overrides the identity of this host. Ranks with equal identities count as "
                    "one host."},
};

// A variable of NCCL's, of which NCCL ignores invalid values: they are warned about, no error.
constexpr bool belongs_to_nccl(const Setting& setting) { return setting.name.starts_with("NCCL_"); }

// Null when there is no such setting.
const Setting* find_setting(std::string_view name);

// Writes `text` into `config`; false, with `config` untouched, when it is not acceptable. An empty
// text means the default.
bool assign(const Setting& setting, std::string_view text, Config& config);

// The value as one would write it: "int8", "131072".
std::string value_text(const Setting& setting, const Config& config);

// What is accepted: "one of none, fp16, int8", "4096 to 16777216 bytes, suffix K, M or G allowed".
std::string accepted_text(const Setting& setting);

struct ParsedConfig {
  Config config;
  std::array<std::string, kSettings.size()> sources;  // "environment", "FILE:LINE", "default"
};

// parse_config() that also says where each value came from.
Result<ParsedConfig> parse_config_sources(const EnvironmentList& environment, const Log& log,
                                          std::string_view system_file = kSystemConfigFile);

// docs/configuration.md, and /etc/thinwire.conf with every key commented out.
std::string configuration_markdown();
std::string configuration_file();

}  // namespace thinwire
