#include "perf/collective.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace thinwire::perf {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

struct TypeAlias {
  std::string_view name;
  DataType type;
};

constexpr TypeAlias kAliases[] = {
    {"char", DataType::int8},
    {"int", DataType::int32},
    {"float16", DataType::float16},
    {"float32", DataType::float32},
    {"float64", DataType::float64},
    {"fp16", DataType::float16},
    {"fp32", DataType::float32},
    {"bf16", DataType::bfloat16},
    {"fp8_e4m3", DataType::float8_e4m3},
    {"fp8_e5m2", DataType::float8_e5m2},
};

}  // namespace

const char* name_of(Collective collective) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "sendrecv"};
  return kNames[static_cast<int>(collective)];
}

const char* name_of(PerfOp op) { return op == PerfOp::avg ? "avg" : name_of(network_op(op)); }

std::optional<DataType> type_of_name(std::string_view name) {
  const std::string wanted = lower(name);
  for (int i = 0; i < kDataTypeCount; ++i) {
    const DataType type = static_cast<DataType>(i);
    if (wanted == thinwire::name_of(type)) return type;
  }
  for (const TypeAlias& alias : kAliases) {
    if (wanted == alias.name) return alias.type;
  }
  return std::nullopt;
}

std::optional<PerfOp> op_of_name(std::string_view name) {
  const std::string wanted = lower(name);
  for (int i = 0; i < kPerfOpCount; ++i) {
    if (wanted == name_of(static_cast<PerfOp>(i))) return static_cast<PerfOp>(i);
  }
  return std::nullopt;
}

Shape shape_of(Collective collective, std::size_t bytes, DataType type, int ranks) {
  const std::size_t element = element_bytes(type);
  const std::size_t count = bytes / element;
  const std::size_t alignment = 16 / element;
  const std::size_t part = count / static_cast<std::size_t>(ranks) / alignment * alignment;
  const std::size_t all = part * static_cast<std::size_t>(ranks);
  switch (collective) {
    case Collective::all_gather:
      return {part, all, part};
    case Collective::reduce_scatter:
      return {all, part, part};
    case Collective::all_reduce:
    case Collective::send_recv:
      break;
  }
  return {count, count, count};
}

std::size_t reported_bytes(const Shape& shape, DataType type) {
  return std::max(shape.send_count, shape.recv_count) * element_bytes(type);
}

double bus_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return (n - 1) / n;
    case Collective::send_recv:
      break;
  }
  return 1;
}

}  // namespace thinwire::perf
