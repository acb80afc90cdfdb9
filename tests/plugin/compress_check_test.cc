#include "plugin/compress_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thinwire::plugin {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

RelativeError error_of(const std::vector<float>& values, const std::vector<float>& exact) {
  return relative_error(DataType::float32, values.data(), exact.data(), exact.size());
}

TEST(RelativeError, EqualVectors_HaveNone) {
  const std::vector<float> values(5000, 3.0f);
  EXPECT_EQ(error_of(values, values).rms, 0);
  EXPECT_EQ(error_of({}, {}).rms, 0);
  EXPECT_EQ(error_of({0, 0}, {0, 0}).largest, 0);
}

TEST(RelativeError, IsRelativeToTheRootMeanSquareOfTheExactResult) {
  std::vector<float> exact(4000, 2.0f), values = exact;
  values[3999] = 2.5f;
  EXPECT_DOUBLE_EQ(error_of(values, exact).largest, 0.25);
  EXPECT_NEAR(error_of(values, exact).rms, 0.25 / std::sqrt(4000.0), 1e-9);
}

TEST(RelativeError, ValuesWhereZerosAreDue_CountAsOne) {
  EXPECT_EQ(error_of({0, 1e-30f}, {0, 0}).rms, 1);
}

TEST(RelativeError, NonFiniteResults_HaveToBeMet) {
  EXPECT_EQ(error_of({1, kInf, kNan}, {1, kInf, kNan}).rms, 0);
  EXPECT_EQ(error_of({1, -kInf}, {1, kInf}).rms, 1);
  EXPECT_EQ(error_of({1, 1}, {1, kNan}).rms, 1);
}

TEST(CompressCheck, Report_LeavesTheStaleTailOut) {
  std::vector<float> memory{1, 1, 7};
  collectives::Call call;
  call.input = call.output = memory.data();
  call.count = 3;
  call.tensor = {.key = 1, .valid = 2};
  CompressCheck check(call);
  EXPECT_TRUE(check.exact_call().exact);
  EXPECT_FALSE(check.exact_call().tensor);
  auto* exact = static_cast<float*>(check.exact_call().output);
  exact[0] = exact[1] = 1;
  exact[2] = 100;
  EXPECT_EQ(check.report(), "all-reduce of 2 float: relative error rms 0.00e+00, largest 0.00e+00");
}

}  // namespace
}  // namespace thinwire::plugin
