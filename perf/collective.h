// What is measured: the collectives, their operations, element counts and bandwidth factors, with
// the conventions of nccl-tests 2.19. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/data_type.h"

namespace thinwire::perf {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, send_recv };

// NCCL's numbering; avg is a sum for the network, scaled on the host.
enum class PerfOp : std::uint8_t { sum, prod, max, min, avg };
inline constexpr int kPerfOpCount = 5;

constexpr ReduceOp network_op(PerfOp op) {
  return op == PerfOp::avg ? ReduceOp::sum : static_cast<ReduceOp>(op);
}

const char* name_of(Collective collective);  // "all_reduce"
const char* name_of(PerfOp op);              // "sum"
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}
constexpr bool is_float(DataType type) { return type >= DataType::float16; }

// nullopt: no such name. Case is ignored; types by the names of base/data_type.h, and aliases.
std::optional<DataType> type_of_name(std::string_view name);
std::optional<PerfOp> op_of_name(std::string_view name);

// Elements per rank. `call_count` is what NCCL's function would be called with.
struct Shape {
  std::size_t send_count = 0;
  std::size_t recv_count = 0;
  std::size_t call_count = 0;
};

// `bytes` is the size the user asked for; all-gather and reduce-scatter round each rank's part down
// to 16 bytes, so that small sizes become 0.
Shape shape_of(Collective collective, std::size_t bytes, DataType type, int ranks);

// The size that the table reports: the larger of what a rank sends and receives.
std::size_t reported_bytes(const Shape& shape, DataType type);

// busbw = algbw * this.
double bus_factor(Collective collective, int ranks);

}  // namespace thinwire::perf
