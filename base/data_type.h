// Element types and reduction operations of a collective, in NCCL's numbering (nccl.h, 2.24+).
// Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thinwire {

enum class DataType : std::uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  float8_e4m3,
  float8_e5m2,
};
inline constexpr int kDataTypeCount = 12;

// AVG and PreMulSum reach the network as sum.
enum class ReduceOp : std::uint8_t { sum, prod, max, min };
inline constexpr int kReduceOpCount = 4;

constexpr std::size_t element_bytes(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 0;
}

// The type sums are kept in: float32 for the 8- and 16-bit floating types, else the type itself.
constexpr DataType accumulator_type(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return DataType::float32;
    default:
      return type;
  }
}

constexpr const char* name_of(DataType type) {
  constexpr const char* kNames[] = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                    "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return kNames[static_cast<int>(type)];
}

constexpr const char* name_of(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return kNames[static_cast<int>(op)];
}

}  // namespace thinwire
