// The settings that are NCCL's own variables, as far as they are heeded. Values; any thread.
#pragma once

#include <array>
#include <string_view>

#include "base/config.h"
#include "base/setting.h"

namespace thinwire {

inline constexpr std::array<std::string_view, 3> kFamilyChoices{"any", "AF_INET", "AF_INET6"};

inline constexpr std::array kNcclSettings{
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_SOCKET_IFNAME",
            .field = &Config::socket_ifname,
            .help =
                "Interfaces to use: a comma list of name prefixes; a leading = makes them exact "
                "names, a leading ^ excludes. Each may be followed by the rail and the plane "
                "that it is connected to, as in NCCL_IB_HCA: =eth0::0,eth1::1. Empty: all but "
                "loopback and bridges of container engines."},
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
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_HCA",
            .field = &Config::ib_hca,
            .help = "RDMA devices to use: a comma list of name[:port[:rail[:plane]]]. Names are "
                    "prefixes, after a leading = exact; a leading ^ excludes. Port: 1 to 255, "
                    "empty for all. Rail (0 to 32767) and plane (0 to 16383) are told to NCCL "
                    "from 2.30 on (docs/topology.md); empty: unknown. Empty list: all with an "
                    "active port."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_GID_INDEX",
            .field = &Config::ib_gid_index,
            .minimum = -1,
            .maximum = 255,
            .help = "GID of the RDMA ports. -1: chosen by type, RoCEv2 with an IPv4 address "
                    "first."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_TC",
            .field = &Config::ib_tc,
            .maximum = 255,
            .help = "Traffic class of RDMA packets."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_SL",
            .field = &Config::ib_sl,
            .maximum = 15,
            .help = "Service level of RDMA packets."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_TIMEOUT",
            .field = &Config::ib_timeout,
            .minimum = 1,
            .maximum = 22,
            .help = "How long an RDMA device waits for an acknowledgement: 4.096 us * 2^value, on "
                    "some devices up to four times as long."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_RETRY_CNT",
            .field = &Config::ib_retry_cnt,
            .minimum = 1,
            .maximum = 7,
            .help = "How often an RDMA device tries again before it gives a path up. 7 never "
                    "gives up on some devices and is taken as 6."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_PCI_RELAXED_ORDERING",
            .field = &Config::ib_relaxed_ordering,
            .maximum = 2,
            .help = "Whether RDMA devices may write to memory in any order. 0: no. 1 and 2: where "
                    "library and device know it."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_ADAPTIVE_ROUTING",
            .field = &Config::ib_adaptive_routing,
            .minimum = -2,
            .maximum = 1,
            .help = "Whether long messages are written so that switches may route each packet by "
                    "itself: what tells of them travels apart. 0: no. 1: yes. -2: over InfiniBand. "
                    "NCCL_IB_SL has to name a service level that is routed so."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_AR_THRESHOLD",
            .field = &Config::ib_ar_threshold,
            .maximum = kGiB,
            .help = "Longest message, in bytes, that is not written so."},
    Setting{.section = "NCCL's own variables",
            .name = "NCCL_IB_ECE_ENABLE",
            .field = &Config::ib_ece,
            .maximum = 1,
            .help = "1: RDMA devices agree on what both can beyond the standard (enhanced "
                    "connection establishment: congestion control, selective repeat), where they "
                    "and the library know how. 0: no."},
};

}  // namespace thinwire
