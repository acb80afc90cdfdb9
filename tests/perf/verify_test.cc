#include "perf/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "perf/element.h"
#include "perf/host_reduce.h"

namespace thinwire::perf {
namespace {

using Bytes = std::vector<unsigned char>;
using Half = SmallFloat<std::uint16_t, 5, 10, true>;
using E4m3 = SmallFloat<std::uint8_t, 4, 3, false>;
using E5m2 = SmallFloat<std::uint8_t, 5, 2, true>;

TEST(Element, Half_ConvertsKnownValues) {
  EXPECT_EQ(Half::store(1.0F), 0x3c00);
  EXPECT_EQ(Half::store(-2.0F), 0xc000);
  EXPECT_EQ(Half::store(65504.0F), 0x7bff);
  EXPECT_EQ(Half::store(65520.0F), 0x7c00);          // rounds to infinity
  EXPECT_EQ(Half::store(std::ldexp(1.0F, -24)), 1);  // the smallest denormal
  EXPECT_EQ(Half::store(1.0F + 0x1p-11F), 0x3c00);   // ties to even
  EXPECT_EQ(Half::load(0x0001), std::ldexp(1.0F, -24));
  EXPECT_TRUE(std::isinf(Half::load(0xfc00)));
  EXPECT_TRUE(std::isnan(Half::load(0x7e00)));
}

TEST(Element, Fp8_ConvertsKnownValues) {
  EXPECT_EQ(E4m3::load(0x7e), 448.0F);
  EXPECT_TRUE(std::isnan(E4m3::load(0x7f)));
  EXPECT_EQ(E4m3::store(1000.0F), 0x7e);  // saturates
  EXPECT_EQ(E4m3::store(1.0F), 0x38);
  EXPECT_EQ(E4m3::load(0x01), std::ldexp(1.0F, -9));
  EXPECT_EQ(E5m2::store(1.0F), 0x3c);
  EXPECT_TRUE(std::isinf(E5m2::load(0x7c)));
}

template <class Format>
void expect_round_trip(int codes) {
  for (int code = 0; code < codes; ++code) {
    const auto stored = static_cast<typename Format::Stored>(code);
    const float value = Format::load(stored);
    if (std::isnan(value)) continue;
    EXPECT_EQ(Format::store(value), stored) << code;
  }
}

TEST(Element, EveryCode_RoundTrips) {
  expect_round_trip<Half>(65536);
  expect_round_trip<Bfloat16>(65536);
  expect_round_trip<E4m3>(256);
  expect_round_trip<E5m2>(256);
}

Payload payload_of(Collective collective, DataType type, PerfOp op, int ranks,
                   std::size_t bytes = 4096) {
  Payload payload;
  payload.collective = collective;
  payload.type = type;
  payload.op = op;
  payload.ranks = ranks;
  payload.seed = 7;
  payload.shape = shape_of(collective, bytes, type, ranks);
  return payload;
}

Bytes sent_by(const Payload& payload, int rank) {
  Bytes bytes(payload.shape.send_count * element_bytes(payload.type));
  fill_send(payload, rank, 0, payload.shape.send_count, bytes.data());
  return bytes;
}

// Reduces all contributions starting at rank `first`: any order has to give the same bits.
Bytes reduced_from(const Payload& payload, int first) {
  Bytes sum = sent_by(payload, first % payload.ranks);
  for (int i = 1; i < payload.ranks; ++i) {
    const Bytes next = sent_by(payload, (first + i) % payload.ranks);
    reduce_arrays(sum.data(), next.data(), sum.data(), payload.shape.send_count, payload.type,
                  network_op(payload.op));
  }
  if (payload.op == PerfOp::avg) {
    scale_average(sum.data(), payload.shape.send_count, payload.type, payload.ranks);
  }
  return sum;
}

class ExactPayload : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(ExactPayload, AnyOrderOfReduction_GivesTheExpectedBits) {
  const auto [type, op, ranks] = GetParam();
  const Payload payload = payload_of(Collective::all_reduce, static_cast<DataType>(type),
                                     static_cast<PerfOp>(op), ranks);
  for (const int first : {0, 1, ranks - 1}) {
    const Bytes result = reduced_from(payload, first);
    const Verdict verdict = verify(payload, 0, result.data());
    EXPECT_EQ(verdict.wrong, 0) << verdict.first_wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(TypesOpsRanks, ExactPayload,
                         testing::Combine(testing::Range(0, kDataTypeCount),
                                          testing::Range(0, kPerfOpCount),
                                          testing::Values(1, 2, 3, 8, 37)));

TEST(Verify, OneWrongBit_IsCountedAndNamed) {
  const Payload payload = payload_of(Collective::all_reduce, DataType::int32, PerfOp::sum, 3);
  Bytes result = reduced_from(payload, 0);
  result[17 * 4] ^= 1;
  const Verdict verdict = verify(payload, 0, result.data());
  EXPECT_EQ(verdict.wrong, 1);
  EXPECT_THAT(verdict.first_wrong, testing::HasSubstr("element 17: got "));
}

TEST(Verify, ReduceScatter_ExpectsEachRanksOwnPart) {
  const Payload payload = payload_of(Collective::reduce_scatter, DataType::float32, PerfOp::sum, 4);
  const Bytes all = reduced_from(payload, 0);
  const std::size_t part = payload.shape.recv_count * 4;
  EXPECT_EQ(verify(payload, 2, all.data() + 2 * part).wrong, 0);
  EXPECT_GT(verify(payload, 2, all.data()).wrong, 0);
}

TEST(Verify, AllGather_ExpectsTheRanksBytesInOrder) {
  const Payload payload = payload_of(Collective::all_gather, DataType::bfloat16, PerfOp::sum, 3);
  Bytes all;
  for (int rank = 0; rank < 3; ++rank) {
    const Bytes part = sent_by(payload, rank);
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_EQ(verify(payload, 1, all.data()).wrong, 0);
  std::swap(all.front(), all.back());
  EXPECT_EQ(verify(payload, 1, all.data()).wrong, 2);
}

TEST(Verify, SendRecv_ExpectsTheSourcesBytes) {
  Payload payload = payload_of(Collective::send_recv, DataType::uint8, PerfOp::sum, 3);
  payload.source = 2;
  EXPECT_EQ(verify(payload, 0, sent_by(payload, 2).data()).wrong, 0);
  EXPECT_GT(verify(payload, 0, sent_by(payload, 1).data()).wrong, 0);
}

std::vector<float> gaussian_sum(const Payload& payload) {
  std::vector<double> reference(payload.shape.recv_count);
  fill_reference(payload, 0, 0, reference.size(), reference.data());
  return {reference.begin(), reference.end()};
}

TEST(VerifyLossy, GaussianData_HasTheMomentsOfANormal) {
  Payload payload = payload_of(Collective::all_reduce, DataType::float32, PerfOp::sum, 1, 1 << 20);
  payload.gaussian = true;
  std::vector<float> values(payload.shape.send_count);
  fill_send(payload, 0, 0, values.size(), values.data());
  double mean = 0, variance = 0, fourth = 0;
  for (const float v : values) mean += v;
  mean /= static_cast<double>(values.size());
  for (const float v : values) {
    variance += v * v;
    fourth += std::pow(v, 4);
  }
  variance /= static_cast<double>(values.size());
  fourth /= static_cast<double>(values.size());
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(variance, 1, 0.01);
  EXPECT_NEAR(fourth / (variance * variance), 3, 0.1);
}

TEST(VerifyLossy, SmallErrors_AreMeasuredNotCounted) {
  Payload payload = payload_of(Collective::all_reduce, DataType::float32, PerfOp::sum, 4, 1 << 16);
  payload.gaussian = true;
  std::vector<float> result = gaussian_sum(payload);
  double squares = 0;
  for (const float v : result) squares += static_cast<double>(v) * v;
  const double rms = std::sqrt(squares / static_cast<double>(result.size()));
  result[5] += 0.1F;
  const Verdict verdict = verify(payload, 0, result.data());
  EXPECT_TRUE(verdict.lossy);
  EXPECT_EQ(verdict.wrong, 0);
  EXPECT_NEAR(verdict.max_error, 0.1 / rms, 1e-4);
  EXPECT_NEAR(verdict.rms_error, 0.1 / rms / std::sqrt(result.size()), 1e-5);
}

TEST(VerifyLossy, LargeErrorsAndNaN_AreWrong) {
  Payload payload = payload_of(Collective::all_reduce, DataType::float32, PerfOp::sum, 4, 1 << 16);
  payload.gaussian = true;
  std::vector<float> result = gaussian_sum(payload);
  result[5] += 3.0F;
  result[9] = NAN;
  EXPECT_EQ(verify(payload, 0, result.data()).wrong, 2);
}

TEST(VerifyLossy, WithoutABound_OnlyWhatIsNotFiniteIsWrong) {
  Payload payload = payload_of(Collective::all_reduce, DataType::float32, PerfOp::sum, 4, 1 << 16);
  payload.gaussian = true;
  payload.lossy_bound = kNoLossyBound;
  std::vector<float> result = gaussian_sum(payload);
  result[5] += 3.0F;
  EXPECT_EQ(verify(payload, 0, result.data()).wrong, 0);
  result[9] = NAN;
  result[10] = INFINITY;
  EXPECT_EQ(verify(payload, 0, result.data()).wrong, 2);
}

TEST(VerifyLossy, ExactTypes_StayExact) {
  EXPECT_FALSE(
      gaussian_makes_sense(payload_of(Collective::all_reduce, DataType::int32, PerfOp::sum, 2)));
  EXPECT_FALSE(
      gaussian_makes_sense(payload_of(Collective::all_reduce, DataType::float32, PerfOp::max, 2)));
  EXPECT_FALSE(
      gaussian_makes_sense(payload_of(Collective::all_gather, DataType::float32, PerfOp::sum, 2)));
  EXPECT_TRUE(gaussian_makes_sense(
      payload_of(Collective::reduce_scatter, DataType::bfloat16, PerfOp::avg, 2)));
}

TEST(Hash, AnyChange_ChangesIt) {
  Bytes bytes(1001, 0);
  const std::uint64_t hash = hash_bytes(bytes.data(), bytes.size());
  EXPECT_EQ(hash_bytes(bytes.data(), bytes.size()), hash);
  EXPECT_NE(hash_bytes(bytes.data(), bytes.size() - 1), hash);
  for (const std::size_t at : {0u, 8u, 500u, 1000u}) {
    bytes[at] = 1;
    EXPECT_NE(hash_bytes(bytes.data(), bytes.size()), hash);
    bytes[at] = 0;
  }
}

TEST(Poison, EveryWord_IsNoOrdinaryFloat) {
  std::vector<float> values(16);
  fill_poison(values.data(), values.size() * sizeof(float));
  for (const float v : values) EXPECT_TRUE(std::isnan(v) || std::fabs(v) > 1e20F);
}

}  // namespace
}  // namespace thinwire::perf
