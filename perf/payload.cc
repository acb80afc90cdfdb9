#include "perf/payload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "perf/element.h"
#include "perf/host_reduce.h"

namespace thinwire::perf {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

std::uint64_t draw(const Payload& payload, int rank, std::size_t index) {
  const std::uint64_t stream =
      payload.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank) * 0xbf58476d1ce4e5b9u;
  return mix(stream ^ mix(index + 1));
}

// Rank's share of `budget` at `index`: the shares of all ranks add up to at most `budget`.
std::uint64_t share(const Payload& payload, int rank, std::size_t index, std::uint64_t budget,
                    std::uint64_t random) {
  const std::uint64_t ranks = static_cast<std::uint64_t>(payload.ranks);
  if (ranks <= budget) return random % (budget / ranks + 1);
  const std::uint64_t turn = static_cast<std::uint64_t>(rank) + mix(index ^ payload.seed);
  return turn % ranks < budget ? random & 1 : 0;
}

template <class Format>
typename Format::Value summand(const Payload& payload, int rank, std::size_t index) {
  using Value = typename Format::Value;
  const std::uint64_t random = draw(payload, rank, index);
  if constexpr (std::is_unsigned_v<Value>) {
    if (payload.op != PerfOp::avg) return static_cast<Value>(random);
  }
  constexpr int kDigits =
      std::is_integral_v<Value> ? std::min<int>(8 * sizeof(Value) - 1, 40) : Format::kDigits;
  const std::uint64_t budget = (std::uint64_t{1} << std::min(kDigits, 40)) - 1;
  const auto magnitude = static_cast<Value>(share(payload, rank, index, budget, random >> 1));
  if constexpr (std::is_unsigned_v<Value>) {
    return magnitude;
  } else {
    // No negative zeros: which zero a minimum or a sum yields depends on the order.
    return (random & 1) != 0 && magnitude != 0 ? static_cast<Value>(-magnitude) : magnitude;
  }
}

// A signed power of two; the exponents of all ranks stay within the type's.
template <class Format>
typename Format::Value factor(const Payload& payload, int rank, std::size_t index) {
  using Value = typename Format::Value;
  const std::uint64_t random = draw(payload, rank, index);
  if constexpr (std::is_unsigned_v<Value>) {
    return static_cast<Value>(random);
  } else {
    const auto exponent = static_cast<int>(
        share(payload, rank, index, std::min(Format::kSafeExponent, 60), random >> 2));
    if constexpr (std::is_integral_v<Value>) {
      const auto magnitude = static_cast<Value>(Value{1} << exponent);
      return (random & 1) != 0 ? static_cast<Value>(-magnitude) : magnitude;
    } else {
      const auto magnitude =
          static_cast<Value>(std::ldexp(1.0, (random & 2) != 0 ? -exponent : exponent));
      return (random & 1) != 0 ? -magnitude : magnitude;
    }
  }
}

// Quantiles of the normal distribution at 2^-17 + k 2^-16, by bisection of erfc. A vector, since
// the compiler evaluates an array by itself, for most of a minute.
std::vector<float> make_normal_quantiles() {
  std::vector<float> table(65536);
  double low = 0;
  for (std::size_t k = 32768; k < table.size(); ++k) {
    const double tail = 1 - (static_cast<double>(k) + 0.5) / 65536;
    double high = low + 1;
    for (int step = 0; step < 40; ++step) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(middle / std::sqrt(2.0)) > tail ? low : high) = middle;
    }
    table[k] = static_cast<float>(low);
    table[65535 - k] = -table[k];
  }
  return table;
}

const std::vector<float>& normal_quantiles() {
  static const std::vector<float> kTable = make_normal_quantiles();
  return kTable;
}

// Gaussian with a little jitter, so that the values are not 65536 distinct ones.
float gaussian(const Payload& payload, int rank, std::size_t index) {
  const std::uint64_t random = draw(payload, rank, index);
  const float jitter = 1 + static_cast<float>(random & 0xffff) * 0x1p-24f;
  return normal_quantiles()[random >> 48] * jitter;
}

template <class Format>
typename Format::Value contribution(const Payload& payload, int rank, std::size_t index) {
  if (payload.gaussian) {
    return static_cast<typename Format::Value>(gaussian(payload, rank, index));
  }
  return payload.op == PerfOp::prod ? factor<Format>(payload, rank, index)
                                    : summand<Format>(payload, rank, index);
}

template <class Format>
void fill_contributions(const Payload& payload, int rank, std::size_t first, std::size_t count,
                        typename Format::Stored* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Format::store(contribution<Format>(payload, rank, first + i));
  }
}

// Any bit pattern is a legal element of data that is only copied.
void fill_copied(const Payload& payload, int rank, std::size_t first, std::size_t count,
                 void* out) {
  const std::size_t size = element_bytes(payload.type);
  auto* bytes = static_cast<unsigned char*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t random = draw(payload, rank, first + i);
    std::memcpy(bytes + i * size, &random, size);
  }
}

void fill_gathered(const Payload& payload, std::size_t first, std::size_t count, void* out) {
  const std::size_t part = payload.shape.send_count;
  const std::size_t size = element_bytes(payload.type);
  auto* bytes = static_cast<unsigned char*>(out);
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = first + done;
    const std::size_t length = std::min(count - done, part - at % part);
    fill_copied(payload, static_cast<int>(at / part), at % part, length, bytes + done * size);
    done += length;
  }
}

// Where result element 0 of `rank` lies in the reduced vector.
std::size_t reduced_offset(const Payload& payload, int rank) {
  if (payload.collective != Collective::reduce_scatter) return 0;
  return static_cast<std::size_t>(rank) * payload.shape.recv_count;
}

}  // namespace

bool gaussian_makes_sense(const Payload& payload) {
  const bool type = payload.type == DataType::float32 || payload.type == DataType::float16 ||
                    payload.type == DataType::bfloat16;
  return type && reduces(payload.collective) && network_op(payload.op) == ReduceOp::sum;
}

void fill_send(const Payload& payload, int rank, std::size_t first, std::size_t count, void* out) {
  if (!reduces(payload.collective)) return fill_copied(payload, rank, first, count, out);
  with_format(payload.type, [&](auto format) {
    using Format = decltype(format);
    fill_contributions<Format>(payload, rank, first, count,
                               static_cast<typename Format::Stored*>(out));
  });
}

void fill_expected(const Payload& payload, int rank, std::size_t first, std::size_t count,
                   void* out) {
  if (payload.collective == Collective::all_gather) {
    return fill_gathered(payload, first, count, out);
  }
  if (payload.collective == Collective::send_recv) {
    return fill_copied(payload, payload.source, first, count, out);
  }
  constexpr std::size_t kBlock = 2048;
  alignas(8) std::array<unsigned char, kBlock * 8> other;
  const std::size_t size = element_bytes(payload.type);
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t length = std::min(kBlock, count - done);
    const std::size_t at = reduced_offset(payload, rank) + first + done;
    auto* block = static_cast<unsigned char*>(out) + done * size;
    fill_send(payload, 0, at, length, block);
    for (int peer = 1; peer < payload.ranks; ++peer) {
      fill_send(payload, peer, at, length, other.data());
      reduce_arrays(block, block, other.data(), length, payload.type, network_op(payload.op));
    }
    if (payload.op == PerfOp::avg) scale_average(block, length, payload.type, payload.ranks);
  }
}

void fill_reference(const Payload& payload, int rank, std::size_t first, std::size_t count,
                    double* out) {
  const std::size_t offset = reduced_offset(payload, rank) + first;
  const double scale = payload.op == PerfOp::avg ? 1.0 / payload.ranks : 1.0;
  std::fill_n(out, count, 0.0);
  with_format(payload.type, [&](auto format) {
    using Format = decltype(format);
    for (int peer = 0; peer < payload.ranks; ++peer) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto stored = Format::store(contribution<Format>(payload, peer, offset + i));
        out[i] += static_cast<double>(Format::load(stored));
      }
    }
  });
  for (std::size_t i = 0; i < count; ++i) out[i] *= scale;
}

void widen(DataType type, const void* stored, std::size_t count, double* out) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    const auto* values = static_cast<const typename Format::Stored*>(stored);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(Format::load(values[i]));
  });
}

void fill_poison(void* out, std::size_t bytes) {
  // float32: NaN, the largest number, infinity; as 16-bit types: NaN and huge values as well.
  constexpr std::uint32_t kPatterns[] = {0x7fc07fff, 0x7f7f7bff, 0xff80fc00, 0x66666666};
  auto* target = static_cast<unsigned char*>(out);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint32_t pattern = kPatterns[i / 4 % std::size(kPatterns)];
    target[i] = static_cast<unsigned char>(pattern >> (8 * (i % 4)));
  }
}

}  // namespace thinwire::perf
