// The settings of collectives and of what they travel as. Values; any thread.
#pragma once

#include <array>
#include <string_view>

#include "base/config.h"
#include "base/setting.h"

namespace thinwire {

inline constexpr std::array<std::string_view, 3> kFeedbackChoices{"auto", "off", "all"};
inline constexpr std::array<std::string_view, 2> kIdentityChoices{"profiler", "buffer"};
inline constexpr std::array<std::string_view, 7> kScheduleChoices{
    "auto", "ring", "direct", "exchange", "grid", "hierarchical", "tree"};

inline constexpr std::array kCollectiveSettings{
    Setting{
        .section = "Collectives",
        .name = "THINWIRE_COMPRESS",
        .field = &Config::compress,
        .agreed = true,
        .help =
            "What sums of float32, float16 and bfloat16 travel as: a codec or a list of rules, "
            "of which the first that matches decides; without a match, exactly. Codecs: none, "
            "fp16, bf16 (2 bytes an element), int8, fp8-e4m3, fp8-e5m2 (1 byte), int4 (half a "
            "byte), each of these four also rounded at random (int8:sr), topk:RATIO (the "
            "largest RATIO of the elements, e.g. topk:0.01 or topk:0.01:fp16). A rule is "
            "CODEC@CONDITION&CONDITION...; conditions: >=SIZE and <SIZE of one call (NCCL hands "
            "over a large tensor in chunks of some 100 KiB to 4 MiB), "
            "float32, float16, bfloat16, and how far the bytes travel: host (to a rank of the same "
            "host), rack (to another host), site (to another rack; THINWIRE_CLUSTER_FILE names "
            "them). "
            "Example: topk:0.01@>=1M,int8@>=64K,none. The other types and operations, and all "
            "point-to-point traffic, always travel exactly."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_COMPRESS_MIN_BYTES",
            .field = &Config::compress_min_bytes,
            .maximum = kGiB,
            .unit = Unit::bytes,
            .agreed = true,
            .help = "Calls of fewer bytes stay exact, whatever the rules say."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_SCHEDULE",
            .field = &Config::schedule,
            .choices = kScheduleChoices,
            .agreed = true,
            .help =
                "Who sends what to whom. ring: neighbours only, 2(n-1) steps. direct: every rank "
                "reduces 1/n of the vector, two steps. exchange: every rank reduces all of it, one "
                "step (up to 8 ranks; more: direct). grid: rings along rows, then columns; see "
                "THINWIRE_GRID. hierarchical: within each host, then between hosts with every rank "
                "carrying its share. tree: 2 log2(n) steps, for short vectors. auto: what a "
                "cost model finds fastest for the size, the ranks and their hosts; where sums are "
                "compressed or converted only of those that round few times: direct and exchange "
                "up to 64 ranks (`thinwire plan` shows what it weighs)."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_GRID",
            .field = &Config::grid,
            .agreed = true,
            .help = "Shape of the grid where THINWIRE_SCHEDULE is grid (of ranks) or hierarchical "
                    "(of hosts). 4x8: 4 rows of 8 neighbours; 2x4x8: two of these; they must "
                    "multiply to the number of ranks or hosts. auto: about as many rows as "
                    "columns, for any number, each row of ranks within a rack where racks are "
                    "known and of one size."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_TUNING_FILE",
            .field = &Config::tuning_file,
            .help = "File of `thinwire calibrate`: latencies, rates and speeds by which auto "
                    "chooses the schedule (docs/scaling.md). What it says must be equal on all "
                    "ranks; compared when a CollNet connects. Empty: what is built in."},
    Setting{.section = "Collectives",
            .name = "THINWIRE_PIECE_BYTES",
            .field = &Config::piece_bytes,
            .minimum = 4 * kKiB,
            .maximum = 16 * kMiB,
            .zero_too = true,
            .unit = Unit::bytes,
            .agreed = true,
            .help = "Longest piece of a vector that one step moves or reduces. Smaller pieces "
                    "pipeline better, larger ones cost less per byte. 0: 128 KiB, or from 32 to "
                    "256 KiB what auto finds fastest (not with topk)."},
    Setting{.section = "Compression",
            .name = "THINWIRE_EF",
            .field = &Config::ef,
            .choices = kFeedbackChoices,
            .help = "Error feedback: what an encoding lost is added when the same tensor comes "
                    "again. auto: for topk and int4. all: for every lossy codec. off: never."},
    Setting{.section = "Compression",
            .name = "THINWIRE_EF_IDENTITY",
            .field = &Config::ef_identity,
            .choices = kIdentityChoices,
            .help = "How a tensor is known again. profiler: through NCCL's profiler interface in "
                    "this library. buffer: by its address, for programs that call the library "
                    "directly with buffers of their own; wrong under NCCL, whose staging buffers "
                    "serve all tensors."},
    Setting{.section = "Compression",
            .name = "THINWIRE_EF_MAX_BYTES",
            .field = &Config::ef_max_bytes,
            .maximum = 1024 * kGiB,
            .unit = Unit::bytes,
            .help = "Memory for residuals, per communicator: 4 bytes for each element of a tensor "
                    "that is fed back. What does not fit goes without feedback."},
    Setting{.section = "Compression",
            .name = "THINWIRE_TOPK_WITHOUT_EF",
            .field = &Config::topk_without_ef,
            .maximum = 1,
            .help = "1: topk also where a tensor has no residual, which loses most of a model's "
                    "accuracy. 0: such a tensor travels exactly."},
    Setting{.section = "Compression",
            .name = "THINWIRE_COMPRESS_SEED",
            .field = &Config::compress_seed,
            .maximum = std::int64_t{1} << 62,
            .help = "Seed of random rounding (codecs with :sr)."},
    Setting{.section = "Compression",
            .name = "THINWIRE_COMPRESS_CHECK",
            .field = &Config::compress_check,
            .maximum = 1,
            .agreed = true,
            .help = "1: every compressed all-reduce is also done exactly, and its true relative "
                    "error logged at INFO. Costs more than it saves: for trials."},
};

}  // namespace thinwire
