// Reductions and conversions one element at a time: the reference, and inside a SIMD target the
// rare types (the compiler vectorises them) and the last elements of the others. Included once by
// each kernel translation unit, inside its anonymous namespace.

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

float canonical(float value) { return value != value ? float_of(kCanonicalNanBits) : value; }
double canonical(double value) {
  return value != value ? __builtin_bit_cast(double, 0x7ff8000000000000ull) : value;
}

// log2 J of prefixes of 1, 2, 4 and 8 elements: where J falls.
struct Jumps {
  std::uint32_t of[4];
};

Jumps jumps_of(const SegmentRule& rule) {
  return {{jump_bits(rule, 1), jump_bits(rule, 2), jump_bits(rule, 4), jump_bits(rule, 8)}};
}

std::uint32_t larger(std::uint32_t a, std::uint32_t b) { return a > b ? a : b; }
std::uint32_t lesser(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

std::uint32_t block_limit(const float* x, const Jumps& jumps) {
  static_assert(kRuleElements == 8);
  const std::uint32_t first = magnitude_bits(x[0]);
  // Records do not fall: with J the same for all, the first one decides.
  if (jumps.of[0] == jumps.of[3]) return first + jumps.of[0];
  const std::uint32_t two = larger(first, magnitude_bits(x[1]));
  const std::uint32_t four = larger(two, larger(magnitude_bits(x[2]), magnitude_bits(x[3])));
  const std::uint32_t eight =
      larger(four, larger(larger(magnitude_bits(x[4]), magnitude_bits(x[5])),
                          larger(magnitude_bits(x[6]), magnitude_bits(x[7]))));
  return lesser(lesser(first + jumps.of[0], two + jumps.of[1]),
                lesser(four + jumps.of[2], eight + jumps.of[3]));
}

std::size_t first_above(const float* x, std::size_t begin, std::size_t end,
                        std::uint32_t limit_bits) {
  while (begin < end && magnitude_bits(x[begin]) <= limit_bits) ++begin;
  return begin;
}

float sum_within(float x, float residual, float limit) {
  const float sum = x + residual;
  const float low = sum < limit ? sum : limit;
  return low > -limit ? low : -limit;
}

void add_residual(const float* x, const float* residual, float limit, std::size_t count,
                  float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool finite = magnitude_bits(x[i]) < kInfinityBits;
    out[i] = finite ? sum_within(x[i], residual[i], limit) : x[i];
  }
}

// Most words hold none or few: two indices are written whatever there is.
void extract(const std::uint64_t* bitmap, std::size_t words, void* indices) {
  const auto index_of = [](std::uint64_t left, std::size_t word) {
    const int bit = left == 0 ? 0 : __builtin_ctzll(left);
    return static_cast<std::uint16_t>(word * 64 + static_cast<std::size_t>(bit));
  };
  std::size_t at = 0;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t left = bitmap[w];
    const auto count = static_cast<std::size_t>(__builtin_popcountll(left));
    for (std::size_t written = 0; written < count || written == 0; written += 2) {
      write(indices, at + written, index_of(left, w));
      left &= left - 1;
      write(indices, at + written + 1, index_of(left, w));
      left &= left - 1;
    }
    at += count;
  }
}

// How an 8- or 16-bit floating type meets float32; the others are their own accumulators.
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
inline constexpr bool kIsInteger = static_cast<T>(0.5f) == T(0);

template <class T>
T extremum(T a, T b, bool want_max) {
  if constexpr (!kIsInteger<T>) {
    if (a != a || b != b) return canonical(a + b);
    if (a == b) return (__builtin_signbit(a) != 0) == want_max ? b : a;  // -0 is less than +0
  }
  return (a < b) == want_max ? b : a;
}

template <ReduceOp op, class T>
T combine(T a, T b) {
  if constexpr (op == ReduceOp::max || op == ReduceOp::min) {
    return extremum(a, b, op == ReduceOp::max);
  } else if constexpr (kIsInteger<T>) {  // wraps
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

void set_plain(Kernels& k) {
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
}
