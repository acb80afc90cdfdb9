// The model against finite differences, and the images it learns from.
#include "perf/trainer/mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "perf/trainer/digits.h"

namespace thinwire::perf {
namespace {

TEST(Digits, Loaded_AreAllOfThem) {
  const Digits digits;
  EXPECT_EQ(digits.training().size() + digits.test().size(), 1797U);
  EXPECT_EQ(digits.test().size(), 359U);
  std::map<int, int> counts;
  double ink = 0;
  for (const auto part : {digits.training(), digits.test()}) {
    for (const Image& image : part) {
      ++counts[image.digit];
      for (const float pixel : image.pixels) {
        EXPECT_GE(pixel, 0.0F);
        EXPECT_LE(pixel, 1.0F);
        ink += pixel * 16.0;
      }
    }
  }
  // The counts and the sum of all pixels of the original file.
  const std::map<int, int> expected{{0, 178}, {1, 182}, {2, 177}, {3, 183}, {4, 181},
                                    {5, 182}, {6, 181}, {7, 179}, {8, 174}, {9, 180}};
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(ink, 561718);
}

TEST(Mlp, Gradient_AgainstFiniteDifferences_Agrees) {
  const Digits digits;
  const Image& image = digits.training()[7];
  Mlp model(16, 3);
  std::vector<float> gradient(model.weights().size());
  model.add_gradient(image, gradient);
  // A step against one weight's unit vector moves that weight alone.
  constexpr float kStep = 1e-2F;
  int checked = 0;
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    std::vector<float> direction(gradient.size());
    direction[i] = 1;
    Mlp above(16, 3);
    Mlp below(16, 3);
    above.update(direction, -kStep, 0);
    below.update(direction, kStep, 0);
    const double slope =
        (above.score({&image, 1}).loss - below.score({&image, 1}).loss) / (2 * kStep);
    EXPECT_NEAR(gradient[i], slope, 2e-3 + 0.02 * std::abs(slope)) << "weight " << i;
    checked += std::abs(slope) > 1e-2 ? 1 : 0;
  }
  EXPECT_GT(checked, 20);
}

TEST(Mlp, Update_WithMomentum_KeepsGoing) {
  Mlp model(4, 1);
  const float start = model.weights()[5];
  std::vector<float> gradient(model.weights().size());
  gradient[5] = 1;
  model.update(gradient, 0.5F, 0.5F);
  EXPECT_FLOAT_EQ(model.weights()[5], start - 0.5F);
  gradient[5] = 0;
  model.update(gradient, 0.5F, 0.5F);
  EXPECT_FLOAT_EQ(model.weights()[5], start - 0.75F);
}

TEST(Mlp, FirstWeights_SameSeed_AreEqualAndOtherSeedsDiffer) {
  const Mlp a(8, 1);
  const Mlp b(8, 1);
  const Mlp c(8, 2);
  EXPECT_TRUE(std::ranges::equal(a.weights(), b.weights()));
  EXPECT_FALSE(std::ranges::equal(a.weights(), c.weights()));
}

}  // namespace
}  // namespace thinwire::perf
