#include "perf/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace thinwire::perf {
namespace {

constexpr std::size_t kBlock = 4096;

std::string describe(std::size_t index, double got, double expected) {
  char text[96];
  std::snprintf(text, sizeof text, "element %zu: got %.9g, expected %.9g", index, got, expected);
  return text;
}

void compare_bits(const Payload& payload, const unsigned char* got, const unsigned char* expected,
                  std::size_t first, std::size_t count, Verdict& verdict) {
  const std::size_t size = element_bytes(payload.type);
  if (std::memcmp(got, expected, count * size) == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(got + i * size, expected + i * size, size) == 0) continue;
    if (++verdict.wrong > 1) continue;
    double values[2];
    widen(payload.type, got + i * size, 1, &values[0]);
    widen(payload.type, expected + i * size, 1, &values[1]);
    verdict.first_wrong = describe(first + i, values[0], values[1]);
  }
}

void verify_exact(const Payload& payload, int rank, const unsigned char* result, Verdict& verdict) {
  const std::size_t size = element_bytes(payload.type);
  std::vector<unsigned char> expected(kBlock * size);
  for (std::size_t first = 0; first < payload.shape.recv_count; first += kBlock) {
    const std::size_t count = std::min(kBlock, payload.shape.recv_count - first);
    fill_expected(payload, rank, first, count, expected.data());
    compare_bits(payload, result + first * size, expected.data(), first, count, verdict);
  }
}

// Calls action(index, got, expected) for every element.
template <class Action>
void for_each_pair(const Payload& payload, int rank, const unsigned char* result, Action action) {
  std::vector<double> reference(kBlock);
  std::vector<double> got(kBlock);
  for (std::size_t first = 0; first < payload.shape.recv_count; first += kBlock) {
    const std::size_t count = std::min(kBlock, payload.shape.recv_count - first);
    fill_reference(payload, rank, first, count, reference.data());
    widen(payload.type, result + first * element_bytes(payload.type), count, got.data());
    for (std::size_t i = 0; i < count; ++i) action(first + i, got[i], reference[i]);
  }
}

void verify_lossy(const Payload& payload, int rank, const unsigned char* result, Verdict& verdict) {
  double largest = 0;
  double largest_error = 0;
  double squares = 0;
  double error_squares = 0;
  for_each_pair(payload, rank, result, [&](std::size_t, double got, double expected) {
    const double error = std::fabs(got - expected);
    largest = std::max(largest, std::fabs(expected));
    largest_error = error > largest_error || std::isnan(error) ? error : largest_error;
    squares += expected * expected;
    error_squares += error * error;
  });
  const double count = static_cast<double>(std::max<std::size_t>(payload.shape.recv_count, 1));
  const double rms = std::sqrt(squares / count);
  verdict.lossy = true;
  verdict.max_error = rms > 0 ? largest_error / rms : largest_error;
  verdict.rms_error = rms > 0 ? std::sqrt(error_squares / count) / rms : std::sqrt(error_squares);
  const double bound = payload.lossy_bound == kNoLossyBound ? std::numeric_limits<double>::max()
                                                            : payload.lossy_bound * largest;
  if (largest_error <= bound) return;
  for_each_pair(payload, rank, result, [&](std::size_t index, double got, double expected) {
    if (std::fabs(got - expected) <= bound) return;
    if (++verdict.wrong == 1) verdict.first_wrong = describe(index, got, expected);
  });
}

}  // namespace

Verdict verify(const Payload& payload, int rank, const void* result) {
  const auto* bytes = static_cast<const unsigned char*>(result);
  Verdict verdict;
  verdict.hash = hash_bytes(bytes, payload.shape.recv_count * element_bytes(payload.type));
  if (payload.gaussian) {
    verify_lossy(payload, rank, bytes, verdict);
  } else {
    verify_exact(payload, rank, bytes, verdict);
  }
  return verdict;
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  // Four independent multiply lanes over 8-byte words: memory speed, no carry chain.
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15u;
  std::array<std::uint64_t, 4> lanes = {bytes + 1, kPrime, ~bytes, ~kPrime};
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t done = 0, turn = 0; done < bytes; done += 8, ++turn) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + done, std::min<std::size_t>(8, bytes - done));
    std::uint64_t& lane = lanes[turn % 4];
    lane = (lane ^ word) * kPrime;
    lane ^= lane >> 29;
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t lane : lanes) hash = (hash ^ lane) * kPrime + (hash >> 32);
  return hash;
}

}  // namespace thinwire::perf
