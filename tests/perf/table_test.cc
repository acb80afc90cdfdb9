#include "perf/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "perf/benchmark.h"
#include "perf/json_report.h"

namespace thinwire::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

Row sample_row() {
  Measurement m;
  m.time_us = 1234.5678;
  m.alg_bw = 0.85;
  m.bus_bw = 1.27;
  m.wrong = 0;
  m.wire_bytes = 1572864;
  m.hash = 0x1234;
  m.hashes_equal = true;
  Row row;
  row.bytes = 1048576;
  row.count = 262144;
  row.out_of_place = m;
  m.bus_bw = 0.73;
  row.in_place = m;
  return row;
}

TEST(Table, Row_StartsWithNcclTestsColumns) {
  EXPECT_THAT(words(row_text(sample_row(), -1, {})),
              ElementsAre("1048576", "262144", "float", "sum", "-1", "1234.57", "0.85", "1.27", "0",
                          "1234.57", "0.85", "0.73", "0", "1572864", "0000000000001234", "yes"));
}

TEST(Table, MissingMeasurements_AreMarked) {
  Row row = sample_row();
  row.in_place.reset();
  row.out_of_place->wrong.reset();
  row.out_of_place->wire_bytes.reset();
  row.out_of_place->hashes_equal = false;
  EXPECT_THAT(
      words(row_text(row, 0, {true, false})),
      ElementsAre("1048576", "262144", "float", "sum", "0", "1234.57", "0.85", "1.27", "N/A", "N/A",
                  "N/A", "N/A", "N/A", "-", "-", "-", "0000000000001234", "no"));
}

TEST(Table, LossyAndReferenceColumns_AreAdded) {
  Row row = sample_row();
  row.out_of_place->max_error = 0.0123;
  row.out_of_place->rms_error = 0.004;
  row.out_of_place->reference_us = 1234.5678 / 2;
  const auto columns = words(row_text(row, 0, {true, true}));
  EXPECT_THAT(std::vector(columns.end() - 6, columns.end()),
              ElementsAre("1.23e-02", "4.00e-03", "0000000000001234", "yes", "1.70", "0.50"));
  EXPECT_THAT(header_text({true, true}), HasSubstr("max.err"));
}

TEST(Table, Fitted_DropsDecimalsThenUsesAnExponent) {
  EXPECT_EQ(fitted(12.345, 7), "12.35");
  EXPECT_EQ(fitted(123456.7, 7), "123457");
  EXPECT_EQ(fitted(123456789.0, 7), "1.2e+08");
  EXPECT_EQ(fitted(1234567.0, 6), "1e+06");
}

TEST(Table, Footer_CountsWrongRowsAndAverages) {
  Row wrong = sample_row();
  wrong.in_place->wrong = 3;
  wrong.in_place->first_wrong = "rank 1: element 2: got 3, expected 4";
  const std::string text = footer_text({"all_reduce_perf", "", "", "", {}}, {sample_row(), wrong});
  EXPECT_THAT(text, HasSubstr("# Out of bounds values : 1 FAILED"));
  EXPECT_THAT(text, HasSubstr("# Avg bus bandwidth    : 1 "));
  EXPECT_THAT(text, HasSubstr("in place, rank 1: element 2"));
  EXPECT_THAT(footer_text({}, {sample_row()}), HasSubstr("# Out of bounds values : 0 OK"));
}

TEST(Summary, UnequalHashes_AreOutOfBounds) {
  Row row = sample_row();
  row.out_of_place->hashes_equal = false;
  EXPECT_EQ(summarize({row}).out_of_bounds, 1);
}

TEST(JsonReport, HasNcclTestsFieldsAndOurs) {
  Options options;
  options.arguments = {"all_reduce_perf", "-g", "2"};
  const RunInfo info{"all_reduce_perf", "net", "x.so", "plugin", {{0, 7, "host", "eth0"}}};
  const auto json = nlohmann::json::parse(json_text(options, info, {sample_row()}, "now"));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["args"][2], "2");
  EXPECT_EQ(json["config"]["devices"][0]["device_info"], "eth0");
  const auto& row = json["results"][0];
  EXPECT_EQ(row["size"], 1048576);
  EXPECT_EQ(row["out_of_place"]["nwrong"], 0);
  EXPECT_EQ(row["out_of_place"]["output_hash"], "0000000000001234");
  EXPECT_EQ(row["out_of_place"]["bytes_sent_per_rank"], 1572864);
  EXPECT_TRUE(row["in_place"]["max_rel_error"].is_null());
  EXPECT_EQ(json["out_of_bounds"]["okay"], true);
  EXPECT_DOUBLE_EQ(json["average_bus_bandwidth"]["bandwidth"], 1.0);
}

TEST(Benchmark, InPlaceSums_AreRefilledBeforeTheyOverflow) {
  EXPECT_EQ(iterations_between_refills(DataType::float32, PerfOp::sum, 4), 50);
  EXPECT_EQ(iterations_between_refills(DataType::float16, PerfOp::sum, 4), 4);
  EXPECT_EQ(iterations_between_refills(DataType::float32, PerfOp::prod, 2), 1);
  EXPECT_GT(iterations_between_refills(DataType::float32, PerfOp::max, 4), 1000000);
  EXPECT_GT(iterations_between_refills(DataType::int32, PerfOp::sum, 4), 1000000);
}

}  // namespace
}  // namespace thinwire::perf
