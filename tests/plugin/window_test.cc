#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/collnet.h"

namespace thinwire::plugin {
namespace {

using ::testing::ElementsAre;

TEST(WindowPieces_WholeVector_OneSliceEach, InElements) {
  EXPECT_THAT(window_pieces(3, 40, 0, 120, 4), ElementsAre(10, 10, 10));
}

TEST(WindowPieces_StraddlingWindow_CutsBothEnds, OthersEmpty) {
  EXPECT_THAT(window_pieces(4, 100, 150, 120, 1), ElementsAre(0, 50, 70, 0));
}

TEST(WindowPieces_EmptyWindow_AllEmpty, AnyOffset) {
  EXPECT_THAT(window_pieces(2, 100, 150, 0, 1), ElementsAre(0, 0));
}

TEST(WindowPieces_EveryWindow_AddsUp, ExhaustiveOnASmallVector) {
  for (std::size_t offset = 0; offset <= 21; ++offset) {
    for (std::size_t bytes = 0; offset + bytes <= 21; ++bytes) {
      std::size_t sum = 0;
      for (const std::size_t piece : window_pieces(3, 7, offset, bytes, 1)) sum += piece;
      EXPECT_EQ(sum, bytes) << offset;
    }
  }
}

}  // namespace
}  // namespace thinwire::plugin
