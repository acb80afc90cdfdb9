// What the settings mean for a group.
#include "plugin/engine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinwire::plugin {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Config config_of(ScheduleChoice schedule, std::vector<int> sides) {
  Config config;
  config.schedule = schedule;
  config.grid.sides = std::move(sides);
  return config;
}

TEST(GridMisfit, OtherProduct_NamesVariableValueAndRanks) {
  const auto layout = collectives::flat_layout(6);
  EXPECT_THAT(grid_misfit(config_of(ScheduleChoice::grid, {4, 4}), layout),
              AllOf(HasSubstr("THINWIRE_GRID=4x4"), HasSubstr("6, the number of ranks")));
  EXPECT_EQ(grid_misfit(config_of(ScheduleChoice::grid, {2, 3}), layout), "");
  EXPECT_EQ(grid_misfit(config_of(ScheduleChoice::grid, {}), layout), "");
}

TEST(GridMisfit, Hierarchical_CountsHosts) {
  const std::vector<std::uint64_t> hosts = {1, 1, 2, 2, 3, 3, 4, 4};
  const auto layout = collectives::make_layout(hosts);
  EXPECT_EQ(grid_misfit(config_of(ScheduleChoice::hierarchical, {2, 2}), layout), "");
  EXPECT_THAT(grid_misfit(config_of(ScheduleChoice::hierarchical, {2, 4}), layout),
              HasSubstr("4, the number of hosts of this group of 8 ranks"));
}

TEST(GridMisfit, OtherSchedules_IgnoreTheGrid) {
  EXPECT_EQ(grid_misfit(config_of(ScheduleChoice::ring, {9, 9}), collectives::flat_layout(6)), "");
}

// Ballots hold 128 KiB, a rule list may have a megabyte.
TEST(SettingsText, LongRuleLists_StayShort_AndDiffer) {
  Config config;
  config.compress.clear();
  for (int i = 0; i < 50'000; ++i) config.compress += "int8@>=1M,";
  const std::string one = settings_text(config);
  EXPECT_LT(one.size(), 2000u);
  EXPECT_THAT(one, HasSubstr("THINWIRE_COMPRESS=int8@>=1M,int8@>=1M"));
  EXPECT_EQ(settings_text(config), one);
  config.compress[400'000] = '2';
  EXPECT_NE(settings_text(config), one);
}

}  // namespace
}  // namespace thinwire::plugin
