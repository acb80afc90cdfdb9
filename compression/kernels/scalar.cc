#include <cmath>
#include <cstring>
#include <type_traits>

#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

template <class T>
T read(const void* from, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void write(void* to, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(to) + index * sizeof(T), &value, sizeof(T));
}

float canonical(float value) { return std::isnan(value) ? float_of(kCanonicalNanBits) : value; }
double canonical(double value) {
  return std::isnan(value) ? std::bit_cast<double>(0x7ff8000000000000u) : value;
}

void block_absmax(const float* x, std::size_t blocks, std::uint32_t* absmax_bits) {
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      const std::uint32_t bits = magnitude_bits(x[b * kBlockElements + i]);
      if (bits > largest) largest = bits;
    }
    absmax_bits[b] = largest;
  }
}

void int8_encode(const float* x, std::size_t blocks, const float* inverse, void* q) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    // In [1, 2) * 2^23 the last place is 1, so that the addition rounds to an integer.
    const float shifted = x[i] * inverse[i / kBlockElements] + 0x1.8p23f;
    write(q, i, static_cast<std::int8_t>(bits_of(shifted) & 0xffu));
  }
}

float int8_value(const void* q, const float* scale, std::size_t i) {
  return static_cast<float>(read<std::int8_t>(q, i)) * scale[i / kBlockElements];
}

void int8_decode(const void* q, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) out[i] = int8_value(q, scale, i);
}

void int8_decode_add(const void* q, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    out[i] = canonical(out[i] + int8_value(q, scale, i));
  }
}

void fp16_encode(const float* x, std::size_t blocks, const float* scale, void* half) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    write(half, i, float16_from_float(x[i] * scale[i / kBlockElements]));
  }
}

float fp16_value(const void* half, const float* scale, std::size_t i) {
  return float_from_float16(read<std::uint16_t>(half, i)) * scale[i / kBlockElements];
}

void fp16_decode(const void* half, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) out[i] = fp16_value(half, scale, i);
}

void fp16_decode_add(const void* half, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    out[i] = canonical(out[i] + fp16_value(half, scale, i));
  }
}

// How a 8- or 16-bit floating type meets float32; the others are their own accumulators.
template <class T>
struct Plain {
  using Element = T;
  using Accumulator = T;
  static T load(T element) { return element; }
};
struct Float16 {
  using Element = std::uint16_t;
  using Accumulator = float;
  static float load(Element e) { return float_from_float16(e); }
  static Element store(float a) { return float16_from_float(a); }
};
struct Bfloat16 {
  using Element = std::uint16_t;
  using Accumulator = float;
  static float load(Element e) { return float_from_bfloat16(e); }
  static Element store(float a) { return bfloat16_from_float(a); }
};
template <int kMantissaBits>
struct Float8 {
  using Element = std::uint8_t;
  using Accumulator = float;
  static float load(Element e) { return float_from_float8<kMantissaBits>(e); }
  static Element store(float a) { return float8_from_float<kMantissaBits>(a); }
};

template <class T>
T extremum(T a, T b, bool want_max) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return canonical(a + b);
    if (a == b) return std::signbit(a) == want_max ? b : a;  // -0 is less than +0
  }
  return (a < b) == want_max ? b : a;
}

template <ReduceOp op, class T>
T combine(T a, T b) {
  if constexpr (op == ReduceOp::max || op == ReduceOp::min) {
    return extremum(a, b, op == ReduceOp::max);
  } else if constexpr (std::is_integral_v<T>) {  // wraps
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == ReduceOp::sum ? x + y : x * y);
  } else {
    return canonical(op == ReduceOp::sum ? a + b : a * b);
  }
}

template <ReduceOp op, class Type>
void reduce(const void* elements, void* accumulator, std::size_t count) {
  using A = typename Type::Accumulator;
  for (std::size_t i = 0; i < count; ++i) {
    const A element = Type::load(read<typename Type::Element>(elements, i));
    write(accumulator, i, combine<op, A>(read<A>(accumulator, i), element));
  }
}

template <class Type>
void load(const void* elements, void* accumulator, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    write(accumulator, i, Type::load(read<typename Type::Element>(elements, i)));
  }
}

template <class Type>
void store(const void* accumulator, void* elements, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    write(elements, i, Type::store(read<typename Type::Accumulator>(accumulator, i)));
  }
}

template <class Type>
void set_reduce(Kernels& k, DataType type) {
  const auto t = static_cast<int>(type);
  k.reduce[static_cast<int>(ReduceOp::sum)][t] = reduce<ReduceOp::sum, Type>;
  k.reduce[static_cast<int>(ReduceOp::prod)][t] = reduce<ReduceOp::prod, Type>;
  k.reduce[static_cast<int>(ReduceOp::max)][t] = reduce<ReduceOp::max, Type>;
  k.reduce[static_cast<int>(ReduceOp::min)][t] = reduce<ReduceOp::min, Type>;
}

template <class Type>
void set_converted(Kernels& k, DataType type) {
  const auto t = static_cast<int>(type);
  k.load[t] = load<Type>;
  k.store[t] = store<Type>;
  set_reduce<Type>(k, type);
}

Kernels make_kernels() {
  Kernels k{block_absmax, int8_encode, int8_decode,     int8_decode_add, fp16_encode,
            fp16_decode,  fp16_decode_add, {}, {}, {}};
  set_reduce<Plain<std::int8_t>>(k, DataType::int8);
  set_reduce<Plain<std::uint8_t>>(k, DataType::uint8);
  set_reduce<Plain<std::int32_t>>(k, DataType::int32);
  set_reduce<Plain<std::uint32_t>>(k, DataType::uint32);
  set_reduce<Plain<std::int64_t>>(k, DataType::int64);
  set_reduce<Plain<std::uint64_t>>(k, DataType::uint64);
  set_reduce<Plain<float>>(k, DataType::float32);
  set_reduce<Plain<double>>(k, DataType::float64);
  set_converted<Float16>(k, DataType::float16);
  set_converted<Bfloat16>(k, DataType::bfloat16);
  set_converted<Float8<3>>(k, DataType::float8_e4m3);
  set_converted<Float8<2>>(k, DataType::float8_e5m2);
  return k;
}

}  // namespace

const Kernels& scalar_kernels() {
  static const Kernels kKernels = make_kernels();
  return kKernels;
}

}  // namespace thinwire::compression
