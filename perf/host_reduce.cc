#include "perf/host_reduce.h"

#include <type_traits>

#include "perf/element.h"

namespace thinwire::perf {
namespace {

// Integers are added and multiplied modulo 2^bits, as NCCL does.
template <class Value, class Operation>
Value wrapping(Value a, Value b, Operation operation) {
  if constexpr (std::is_integral_v<Value>) {
    const auto wide = operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    return static_cast<Value>(wide);
  } else {
    return operation(a, b);
  }
}

template <class Format, class Combine>
void combine_arrays(void* out, const void* a, const void* b, std::size_t count, Combine combine) {
  using Stored = typename Format::Stored;
  const auto* left = static_cast<const Stored*>(a);
  const auto* right = static_cast<const Stored*>(b);
  auto* result = static_cast<Stored*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = Format::store(combine(Format::load(left[i]), Format::load(right[i])));
  }
}

}  // namespace

void reduce_arrays(void* out, const void* a, const void* b, std::size_t count, DataType type,
                   ReduceOp op) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    using Value = typename Format::Value;
    switch (op) {
      case ReduceOp::sum:
        return combine_arrays<Format>(out, a, b, count, [](Value x, Value y) {
          return wrapping(x, y, [](auto u, auto v) { return u + v; });
        });
      case ReduceOp::prod:
        return combine_arrays<Format>(out, a, b, count, [](Value x, Value y) {
          return wrapping(x, y, [](auto u, auto v) { return u * v; });
        });
      case ReduceOp::max:
        return combine_arrays<Format>(out, a, b, count,
                                      [](Value x, Value y) { return x > y ? x : y; });
      case ReduceOp::min:
        return combine_arrays<Format>(out, a, b, count,
                                      [](Value x, Value y) { return x < y ? x : y; });
    }
  });
}

void scale_average(void* data, std::size_t count, DataType type, int ranks) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    using Value = typename Format::Value;
    auto* values = static_cast<typename Format::Stored*>(data);
    for (std::size_t i = 0; i < count; ++i) {
      const Value sum = Format::load(values[i]);
      if constexpr (std::is_integral_v<Value>) {
        values[i] = static_cast<Value>(sum / static_cast<Value>(ranks));
      } else {
        values[i] = Format::store(sum * (Value{1} / static_cast<Value>(ranks)));
      }
    }
  });
}

}  // namespace thinwire::perf
