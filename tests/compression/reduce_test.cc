// reduce.h against oracles in wider types, for all types, operations and targets.

#include "compression/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min};

template <class T>
class ReduceIntegers : public testing::Test {};
template <class T>
constexpr DataType kTypeOf = DataType::int8;
template <>
constexpr DataType kTypeOf<std::uint8_t> = DataType::uint8;
template <>
constexpr DataType kTypeOf<std::int32_t> = DataType::int32;
template <>
constexpr DataType kTypeOf<std::uint32_t> = DataType::uint32;
template <>
constexpr DataType kTypeOf<std::int64_t> = DataType::int64;
template <>
constexpr DataType kTypeOf<std::uint64_t> = DataType::uint64;

using Integers = testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t,
                                std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(ReduceIntegers, Integers);

template <class T>
T integer_oracle(ReduceOp op, T a, T b) {
  using Wide = unsigned __int128;
  if (op == ReduceOp::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  if (op == ReduceOp::prod) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  return op == ReduceOp::max ? std::max(a, b) : std::min(a, b);
}

TYPED_TEST(ReduceIntegers, EveryOpTargetAndLength_WrapsLikeTheOracle) {
  std::mt19937_64 random(1);
  std::vector<TypeParam> a(1031), b(1031), got, back(1031);
  for (auto& v : a) v = static_cast<TypeParam>(random());
  for (auto& v : b) v = static_cast<TypeParam>(random());
  for (const SimdTarget target : supported_targets()) {
    const ForcedTarget forced(target);
    for (const ReduceOp op : kOps) {
      for (const std::size_t count : {0, 1, 7, 64, 1031}) {
        got = a;
        reduce(kTypeOf<TypeParam>, op, b.data(), got.data(), count);
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(got[i], i < count ? integer_oracle(op, a[i], b[i]) : a[i]);
        }
      }
    }
    load(kTypeOf<TypeParam>, a.data(), got.data(), a.size());
    store(kTypeOf<TypeParam>, got.data(), back.data(), a.size());
    EXPECT_EQ(back, a);
  }
}

template <class T>
T float_oracle(ReduceOp op, T a, T b) {
  using Wide = long double;
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  if (std::isnan(a) || std::isnan(b)) return kNan;
  // 64 mantissa bits hold sums and products of float exactly enough to round once more; for
  // double the processor's own operation is the reference.
  if (op == ReduceOp::sum || op == ReduceOp::prod) {
    T result;
    if constexpr (sizeof(T) == 4) {
      result =
          static_cast<T>(op == ReduceOp::sum ? static_cast<double>(a) + static_cast<double>(b)
                                             : static_cast<double>(a) * static_cast<double>(b));
    } else {
      result = op == ReduceOp::sum ? a + b : a * b;
      const Wide exact = op == ReduceOp::sum ? Wide(a) + Wide(b) : Wide(a) * Wide(b);
      if (std::isnormal(result)) {
        EXPECT_LE(std::fabs(Wide(result) - exact), std::fabs(exact) * 0x1.01p-53L);
      }
    }
    return std::isnan(result) ? kNan : result;
  }
  if (a == 0 && b == 0) {
    const bool negative = op == ReduceOp::min ? std::signbit(a) || std::signbit(b)
                                              : std::signbit(a) && std::signbit(b);
    return negative ? T(-0.0) : T(0.0);
  }
  return op == ReduceOp::max ? std::max(a, b) : std::min(a, b);
}

// Ordinary values, then every pair of special ones.
template <class T>
void float_operands(std::vector<T>& a, std::vector<T>& b) {
  using Limits = std::numeric_limits<T>;
  const T specials[] = {T(0),
                        T(-0.0),
                        T(1),
                        T(-1.5),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::quiet_NaN(),
                        -Limits::quiet_NaN(),
                        Limits::signaling_NaN()};
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(static_cast<T>(normal(random) * std::exp(10 * normal(random))));
    b.push_back(static_cast<T>(normal(random) * std::exp(10 * normal(random))));
  }
  for (const T x : specials) {
    for (const T y : specials) {
      a.push_back(x);
      b.push_back(y);
    }
  }
}

template <class T>
void expect_float_ops(DataType type) {
  std::vector<T> a, b;
  float_operands(a, b);
  for (const SimdTarget target : supported_targets()) {
    const ForcedTarget forced(target);
    for (const ReduceOp op : kOps) {
      auto got = a;
      reduce(type, op, b.data(), got.data(), got.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const T expected = float_oracle(op, a[i], b[i]);
        ASSERT_EQ(std::memcmp(&got[i], &expected, sizeof(T)), 0)
            << name_of(target) << ' ' << name_of(op) << ' ' << a[i] << ' ' << b[i] << " gave "
            << got[i];
      }
    }
  }
}

TEST(ReduceFloats, Float32_EveryOpAndTarget_MatchesTheOracle) {
  expect_float_ops<float>(DataType::float32);
}
TEST(ReduceFloats, Float64_EveryOpAndTarget_MatchesTheOracle) {
  expect_float_ops<double>(DataType::float64);
}

// An IEEE-like format described by numbers, decoded and rounded by enumeration: shares nothing
// with the code under test.
struct Format {
  DataType type;
  int exponent_bits, mantissa_bits;
  bool saturates, has_infinity;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};
constexpr Format kFormats[] = {{DataType::float16, 5, 10, false, true},
                               {DataType::bfloat16, 8, 7, false, true},
                               {DataType::float8_e4m3, 4, 3, true, false},
                               {DataType::float8_e5m2, 5, 2, true, true}};

double value_of(const Format& f, unsigned code) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int mantissa = static_cast<int>(code & ((1u << f.mantissa_bits) - 1));
  const int exponent = static_cast<int>((code >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1));
  const double sign = (code >> (f.bits() - 1)) & 1u ? -1 : 1;
  const bool top = exponent == (1 << f.exponent_bits) - 1;
  if (top && f.has_infinity) return mantissa != 0 ? NAN : sign * INFINITY;
  if (top && mantissa == (1 << f.mantissa_bits) - 1) return NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
}

unsigned code_at(const std::vector<std::byte>& bytes, const Format& f, std::size_t i) {
  if (f.bits() == 8) return static_cast<unsigned>(bytes[i]);
  std::uint16_t code;
  std::memcpy(&code, bytes.data() + 2 * i, 2);
  return code;
}

std::vector<std::byte> all_codes(const Format& f) {
  std::vector<std::byte> bytes((std::size_t{1} << f.bits()) * element_bytes(f.type));
  for (unsigned code = 0; code < 1u << f.bits(); ++code) {
    std::memcpy(bytes.data() + code * element_bytes(f.type), &code, element_bytes(f.type));
  }
  return bytes;
}

// The nearest code to |x| >= 0, ties to even: by searching all codes.
unsigned rounded_code(const Format& f, double x) {
  unsigned best = 0;
  double distance = INFINITY;
  unsigned low = 0, high = (1u << (f.bits() - 1)) - 1;
  while (low < high) {  // magnitudes ascend with their codes; NaN are at the end
    const unsigned middle = (low + high + 1) / 2;
    const double v = value_of(f, middle);
    if (!std::isnan(v) && v <= x)
      low = middle;
    else
      high = middle - 1;
  }
  for (unsigned code = low; code <= low + 1; ++code) {
    double v = value_of(f, code);
    if (std::isnan(v)) break;
    if (std::isinf(v)) {  // one step past the largest finite value
      if (f.saturates) break;
      v = 2 * value_of(f, code - 1) - value_of(f, code - 2);
    }
    const double d = std::fabs(v - x);
    if (d < distance || (d == distance && code % 2 == 0)) {
      best = code;
      distance = d;
    }
  }
  return best;
}

TEST(ReduceNarrow, EveryCode_LoadsItsValueAndStoresBack) {
  for (const Format& f : kFormats) {
    const auto codes = all_codes(f);
    std::vector<float> values(std::size_t{1} << f.bits());
    std::vector<std::byte> back(codes.size());
    for (const SimdTarget target : supported_targets()) {
      const ForcedTarget forced(target);
      load(f.type, codes.data(), values.data(), values.size());
      store(f.type, values.data(), back.data(), values.size());
      for (unsigned code = 0; code < values.size(); ++code) {
        const double expected = value_of(f, code);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(values[code])) << name_of(f.type) << code;
          ASSERT_TRUE(std::isnan(value_of(f, code_at(back, f, code))));
        } else {
          ASSERT_EQ(values[code], expected) << name_of(f.type) << code;
          ASSERT_EQ(code_at(back, f, code), code) << name_of(f.type);
        }
      }
    }
  }
}

std::vector<float> rounding_values(const Format& f) {
  std::vector<float> values = sample(Kind::every_exponent, 4000, 4);
  const auto spread = sample(Kind::heavy_tailed, 20000, 5);
  values.insert(values.end(), spread.begin(), spread.end());
  for (unsigned code = 0; code + 1 < 1u << (f.bits() - 1); code += f.bits() == 8 ? 1 : 17) {
    const double v = value_of(f, code), next = value_of(f, code + 1);
    if (!std::isfinite(v) || !std::isfinite(next)) break;
    const auto middle = static_cast<float>((v + next) / 2);
    for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) {
      values.push_back(x);
      values.push_back(-x);
    }
  }
  for (const float x : {448.0f, 464.0f, 465.0f, 57344.0f, 61440.0f, 65519.9f, 65520.0f, 3.4e38f}) {
    values.push_back(x);
  }
  return values;
}

TEST(ReduceNarrow, AnyFloat_RoundsToNearestEvenOnEveryTarget) {
  for (const Format& f : kFormats) {
    const auto values = rounding_values(f);
    std::vector<std::byte> stored(values.size() * element_bytes(f.type));
    for (const SimdTarget target : supported_targets()) {
      const ForcedTarget forced(target);
      store(f.type, values.data(), stored.data(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const unsigned sign = std::signbit(values[i]) ? 1u << (f.bits() - 1) : 0u;
        ASSERT_EQ(code_at(stored, f, i), sign | rounded_code(f, std::fabs(values[i])))
            << name_of(f.type) << ' ' << name_of(target) << ' ' << values[i];
      }
    }
  }
}

TEST(ReduceNarrow, NonFinite_StoresAsTheFormatSays) {
  for (const Format& f : kFormats) {
    const std::vector<float> values = {INFINITY, -INFINITY, NAN, -NAN};
    std::vector<std::byte> stored(values.size() * element_bytes(f.type));
    store(f.type, values.data(), stored.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double v = value_of(f, code_at(stored, f, i));
      if (i < 2 && f.has_infinity) {
        EXPECT_EQ(v, values[i]) << name_of(f.type);
      } else {
        EXPECT_TRUE(std::isnan(v)) << name_of(f.type);
      }
    }
  }
}

TEST(ReduceNarrow, EveryOpTargetAndMisalignment_IsLoadThenFloat32) {
  for (const Format& f : kFormats) {
    const auto codes = all_codes(f);
    for (const std::size_t count : {0, 1, 15, 16, 17, 200}) {
      for (const std::size_t offset : {0, 1, 3}) {
        const auto* from = codes.data() + (offset + 37) * element_bytes(f.type);
        const auto accumulator = sample(Kind::non_finite, count, 6);
        std::vector<float> loaded(count);
        load(f.type, from, loaded.data(), count);
        for (const ReduceOp op : kOps) {
          auto expected = accumulator;
          reduce(DataType::float32, op, loaded.data(), expected.data(), count);
          for (const SimdTarget target : supported_targets()) {
            const ForcedTarget forced(target);
            auto got = accumulator;
            reduce(f.type, op, from, got.data(), count);
            ASSERT_TRUE(same_bits(got, expected)) << name_of(f.type) << name_of(target);
          }
        }
      }
    }
  }
}

TEST(ReduceNarrow, NanPayloads_SameBitsOnEveryTarget) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    values.push_back(std::bit_cast<float>((i & 1u) << 31 | 0x7f800001u | i * 0x7ffu));
  }
  for (const Format& f : kFormats) {
    std::vector<std::byte> expected(values.size() * element_bytes(f.type)), got(expected.size());
    std::vector<float> loaded(values.size()), loaded_again(values.size());
    for (const SimdTarget target : supported_targets()) {
      const ForcedTarget forced(target);
      auto& to = target == SimdTarget::scalar ? expected : got;
      auto& back = target == SimdTarget::scalar ? loaded : loaded_again;
      store(f.type, values.data(), to.data(), values.size());
      load(f.type, to.data(), back.data(), values.size());
      if (target == SimdTarget::scalar) continue;
      EXPECT_EQ(got, expected) << name_of(f.type) << name_of(target);
      EXPECT_TRUE(same_bits(loaded, loaded_again)) << name_of(f.type) << name_of(target);
    }
  }
}

}  // namespace
}  // namespace thinwire::compression
