#include "topology/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/render.h"

namespace thinwire::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine machine() {
  Machine made;
  for (const auto& [net, rdma] :
       {std::pair("ens1", "mlx5_0"), std::pair("ens2", "mlx5_1"), std::pair("eth0", "")}) {
    Nic nic;
    nic.net_name = net;
    nic.rdma_name = rdma;
    made.nics.push_back(nic);
  }
  return made;
}

TEST(Rails_OfTheUsersLists_AreTheNicsOwn, RdmaNamesFirst) {
  Machine named = machine();
  name_rails(DeviceList("=mlx5_0:1:4:1"), DeviceList("ens1::8,ens2::9,eth0::7:2"), named);
  EXPECT_EQ(named.nics[0].ids, (RailIds{4, 1}));
  EXPECT_EQ(named.nics[1].ids, (RailIds{9, kUndefinedId}));
  EXPECT_EQ(named.nics[2].ids, (RailIds{7, 2}));
  const std::string text = text_of(Topology(named));
  EXPECT_THAT(text, HasSubstr(", rail 4, plane 1\n"));
  EXPECT_THAT(text, HasSubstr(", rail 9\n"));
}

TEST(Rails_WithoutLists_AreUnknown, AndNotShown) {
  Machine plain = machine();
  name_rails(DeviceList("^mlx5_1:1:3"), DeviceList(""), plain);
  for (const Nic& nic : plain.nics) EXPECT_EQ(nic.ids, RailIds{});
  EXPECT_THAT(text_of(Topology(plain)), Not(HasSubstr("rail")));
}

}  // namespace
}  // namespace thinwire::topology
