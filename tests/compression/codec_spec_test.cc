#include "compression/codec_spec.h"

#include <gtest/gtest.h>

namespace thinwire::compression {
namespace {

TEST(CodecSpec, AcceptedTexts_ComeBackCanonical) {
  const std::pair<const char*, const char*> cases[] = {
      {"none", "none"},
      {"fp16", "fp16"},
      {"bf16", "bf16"},
      {"int8:sr", "int8:sr"},
      {"int4", "int4"},
      {"fp8-e4m3", "fp8-e4m3"},
      {"fp8-e5m2:sr", "fp8-e5m2:sr"},
      {"topk:0.01", "topk:0.01"},
      {"topk:.5", "topk:0.5"},
      {"topk:1e-3:fp16", "topk:0.001:fp16"},
      {"topk:0.25:fp32", "topk:0.25"},
      {"topk:0.000001", "topk:1e-06"},
  };
  for (const auto& [text, canonical] : cases) {
    const auto spec = parse_codec(text);
    ASSERT_TRUE(spec.ok()) << text;
    EXPECT_EQ(to_text(spec.value()), canonical);
    const auto again = parse_codec(canonical);
    ASSERT_TRUE(again.ok()) << canonical;
    EXPECT_EQ(again.value(), spec.value());
  }
}

TEST(CodecSpec, Parameters_AreRead) {
  EXPECT_EQ(parse_codec("topk:0.01:fp16").value(),
            (CodecSpec{CodecId::topk, 0.01f, TopkValue::fp16, false}));
  EXPECT_EQ(parse_codec("int4:sr").value(), (CodecSpec{CodecId::int4, 0, TopkValue::fp32, true}));
}

TEST(CodecSpec, AnythingElse_IsRefusedWithTheAcceptedForms) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "accepted are none"},
      {"fp8", "fp8-e4m3"},
      {"INT8", "accepted are none"},
      {"int8:", ":sr"},
      {"int8:rn", ":sr"},
      {"fp16:sr", ":sr"},
      {"none:sr", ":sr"},
      {"topk", "topk:0.01"},
      {"topk:", "topk:0.01"},
      {"topk:0", "0.5"},
      {"topk:0.6", "0.5"},
      {"topk:-0.1", "0.5"},
      {"topk:nan", "0.5"},
      {"topk:0.01x", "0.5"},
      {"topk:0.01:", "fp32 or fp16"},
      {"topk:0.01:bf16", "fp32 or fp16"},
      {"topk:0.01:fp16:sr", "fp32 or fp16"},
  };
  for (const auto& [text, hint] : cases) {
    const auto spec = parse_codec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.status().code(), Code::invalid_config) << text;
    EXPECT_NE(std::string(spec.status().text()).find(hint), std::string::npos)
        << text << ": " << spec.status().text();
  }
}

}  // namespace
}  // namespace thinwire::compression
