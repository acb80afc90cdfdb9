// The settings of transports, of the machine and of time.
// Values; any thread.
#pragma once

#include <array>
#include <string_view>

#include "base/config.h"
#include "base/setting.h"

namespace thinwire {

inline constexpr std::array<std::string_view, 4> kTransportChoices{"auto", "tcp", "ucx", "verbs"};
inline constexpr std::array<std::string_view, 2> kShmChoices{"auto", "off"};
inline constexpr std::array<std::string_view, 2> kChecksumChoices{"header", "full"};

inline constexpr std::array kNetworkSettings{
    Setting{.section = "Network",
            .name = "THINWIRE_TRANSPORT",
            .field = &Config::transport,
            .choices = kTransportChoices,
            .agreed = true,
            .help = "What moves the bytes. tcp: sockets. ucx: UCX (libucp.so.0, 1.13 or newer) as "
                    "its own variables configure it, with TCP for set-up and errors. verbs: RDMA "
                    "over InfiniBand or RoCE (libibverbs.so.1), with TCP for set-up and errors. "
                    "auto: tcp."},
    Setting{.section = "Network",
            .name = "THINWIRE_SHM",
            .field = &Config::shm,
            .choices = kShmChoices,
            .agreed = true,
            .help = "Shared memory between the ranks of a collective group that run on one host "
                    "(NCCL_HOSTID overrides which do). auto: where it can be shared, else the "
                    "network, with a warning. off: always the network."},
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
            .help =
                "Sockets per connection. 0: chosen from the link speed: 1 up to 10 Gbit/s, 4 up "
                "to 50 Gbit/s and where the speed is not known, 8 above; 1 within a host."},
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
            .minimum = 64 * kKiB,
            .maximum = kGiB,
            .zero_too = true,
            .unit = Unit::bytes,
            .help = "Size of each socket's send and receive buffer. 0: the kernel's automatic "
                    "sizing, nearly always the best. Smaller ones than 64 KiB would stall a link."},
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
    Setting{.section = "RDMA verbs",
            .name = "THINWIRE_VERBS_QUEUE_PAIRS",
            .field = &Config::verbs_queue_pairs,
            .minimum = 1,
            .maximum = 15,
            .help =
                "Queue pairs for data per connection, beside one for messages; rounded up to as "
                "many for every port of a merged device. Messages of 512 KiB and more are "
                "spread over them. The connecting side's value counts."},
};

}  // namespace thinwire
