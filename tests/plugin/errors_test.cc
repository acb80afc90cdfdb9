#include "plugin/errors.h"

#include <gtest/gtest.h>

namespace thinwire::plugin {
namespace {

TEST(ToNccl_EveryCode_HasItsNcclResult, AsDesigned) {
  EXPECT_EQ(to_nccl(Code::ok), tw_nccl_success);
  EXPECT_EQ(to_nccl(Code::would_block), tw_nccl_success);
  EXPECT_EQ(to_nccl(Code::invalid_argument), tw_nccl_internal_error);
  EXPECT_EQ(to_nccl(Code::internal_error), tw_nccl_internal_error);
  EXPECT_EQ(to_nccl(Code::invalid_config), tw_nccl_invalid_usage);
  EXPECT_EQ(to_nccl(Code::peer_lost), tw_nccl_remote_error);
  EXPECT_EQ(to_nccl(Code::system_error), tw_nccl_system_error);
}

}  // namespace
}  // namespace thinwire::plugin
