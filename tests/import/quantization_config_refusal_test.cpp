// SPDX-License-Identifier: Apache-2.0
// The quantization configs that are refused, each by the name of what is not read.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgeq/import/quantization_config.hpp"

namespace edgeq {
namespace {

struct Refused {
  const char* name;
  std::string config;  // the value of quantization_config
  ErrorCode code;
  std::vector<std::string> phrases;
};

std::string gptq(const std::string& fields) {
  return R"({"quant_method":"gptq","bits":4,"group_size":128)" + fields + "}";
}
std::string awq(const std::string& fields) {
  return R"({"quant_method":"awq","group_size":128)" + fields + "}";
}
std::string compressed(const std::string& format, const std::string& weights,
                       const std::string& fields = "") {
  return R"({"quant_method":"compressed-tensors","format":")" + format +
         R"(","config_groups":{"g":{"targets":["Linear"],"weights":{)" + weights + "}}}" + fields + "}";
}

std::vector<Refused> refused_configs() {
  constexpr auto invalid = ErrorCode::invalid_file, unsupported = ErrorCode::unsupported;
  const std::string four_bits = R"("num_bits":4,"group_size":128)";
  return {
      {"UnknownMethod", R"({"quant_method":"quip"})", unsupported, {"quant_method is \"quip\""}},
      {"MethodMarlin", R"({"quant_method":"marlin","bits":4})", unsupported, {"quant_method is \"marlin\""}},
      {"MethodAutoRound", R"({"quant_method":"auto-round","bits":4})", unsupported, {"\"auto-round\""}},
      {"NoMethod", R"({"load_in_4bit":true})", unsupported, {"quant_method is \"\""}},
      {"MethodThatIsANumber", R"({"quant_method":4})", invalid, {"quant_method must be a string"}},
      {"ConfigThatIsNoObject", "[]", invalid, {"must be an object"}},

      {"GptqPlanar",
       gptq(R"(,"checkpoint_format":"gptq_p")"),
       unsupported,
       {"checkpoint_format is \"gptq_p\""}},
      {"GptqPlanarByItsOtherKey", gptq(R"(,"format":"gptq_p")"), unsupported, {"format is \"gptq_p\""}},
      {"GptqMarlin",
       gptq(R"(,"checkpoint_format":"marlin")"),
       unsupported,
       {"checkpoint_format is \"marlin\""}},
      {"GptqMarlinByItsFlag", gptq(R"(,"is_marlin_format":true)"), unsupported, {"is_marlin_format"}},
      {"GptqExllama", gptq(R"(,"checkpoint_format":"exllama")"), unsupported, {"\"exllama\""}},
      {"GptqPackedInto64Bits",
       gptq(R"(,"pack_dtype":"int64")"),
       unsupported,
       {"pack_dtype is \"int64\"", "int32"}},
      {"GptqOf5Bits", R"({"quant_method":"gptq","bits":5})", unsupported, {"bits is 5"}},
      {"GptqOf4Point0Bits", R"({"quant_method":"gptq","bits":4.0})", invalid, {"bits must be an integer"}},
      {"GptqGroupOf0", R"({"quant_method":"gptq","bits":4,"group_size":0})", invalid, {"group_size is 0"}},
      {"GptqGroupOfMinus2",
       R"({"quant_method":"gptq","bits":4,"group_size":-2})",
       invalid,
       {"group_size is -2"}},
      {"GptqSymThatIsANumber", gptq(R"(,"sym":1)"), invalid, {"sym must be true or false"}},
      {"GptqDynamicBits", gptq(R"(,"dynamic":{".*":{"bits":7}})"), unsupported, {"bits is 7"}},
      {"GptqDynamicPacking", gptq(R"(,"dynamic":{".*":{"pack_dtype":"int8"}})"), unsupported, {"\"int8\""}},
      {"GptqDynamicThatIsNoObject", gptq(R"(,"dynamic":[])"), invalid, {"dynamic must be an object"}},
      {"GptqOverrideThatIsNoObject", gptq(R"(,"dynamic":{"a":4})"), invalid, {"overrides", "object"}},
      {"GptqLookahead",
       gptq(R"x(,"dynamic":{"-:(?!.*experts)":{}})x"),
       unsupported,
       {"\"(?!.*experts)\"", "(?"}},
      {"GptqBadExpression", gptq(R"(,"dynamic":{"-:(":{}})"), invalid, {"unmatched '('"}},
      {"GptqBlockOfNumbers",
       gptq(R"(,"modules_in_block_to_quantize":[[1]])"),
       invalid,
       {"modules_in_block_to_quantize"}},

      {"AwqGemv", awq(R"(,"version":"gemv")"), unsupported, {"version is \"gemv\"", "gemm"}},
      {"AwqGemvFast", awq(R"(,"version":"GEMV_FAST")"), unsupported, {"\"gemv_fast\""}},
      {"AwqMarlin", awq(R"(,"version":"marlin")"), unsupported, {"\"marlin\""}},
      {"AwqLlmAwq", awq(R"(,"version":"llm-awq")"), unsupported, {"\"llm-awq\""}},
      {"AwqLlmAwqByItsBackend", awq(R"(,"backend":"llm-awq")"), unsupported, {"backend is \"llm-awq\""}},
      {"AwqOf8Bits", awq(R"(,"bits":8)"), unsupported, {"bits is 8", "AWQ"}},
      {"AwqWithoutZeroPoint", awq(R"(,"zero_point":false)"), unsupported, {"zero_point"}},
      {"AwqExceptionsThatAreNumbers",
       awq(R"(,"modules_to_not_convert":[1])"),
       invalid,
       {"modules_to_not_convert"}},

      {"Marlin24", compressed("marlin-24", four_bits), unsupported, {"format is \"marlin-24\""}},
      {"SparseBitmask", compressed("sparse-24-bitmask", four_bits), unsupported, {"\"sparse-24-bitmask\""}},
      {"SparsityBesideTheFormat",
       compressed("pack-quantized", four_bits, R"(,"sparsity_config":{"format":"sparse-24-bitmask"})"),
       unsupported,
       {"sparsity_config", "\"sparse-24-bitmask\""}},
      {"Transforms",
       compressed("pack-quantized", four_bits, R"(,"transform_config":{"config_groups":{"u":{}}})"),
       unsupported,
       {"transform_config"}},
      {"MixedPrecisionWithoutAFormat",
       compressed("mixed-precision", four_bits),
       unsupported,
       {"\"mixed-precision\""}},
      {"PackedFloats",
       compressed("pack-quantized", R"("num_bits":8,"type":"float")"),
       unsupported,
       {"\"pack-quantized\"", "\"float\" of 8 bits"}},
      {"PackedNineBits", compressed("pack-quantized", R"("num_bits":9)"), unsupported, {"9 bits"}},
      {"PackedMinus1Bits", compressed("pack-quantized", R"("num_bits":-1)"), unsupported, {"-1 bits"}},
      {"FloatsOf4Bits",
       compressed("float-quantized", R"("num_bits":4,"type":"float")"),
       unsupported,
       {"4 bits"}},
      {"EmptyType", compressed("naive-quantized", R"("num_bits":8,"type":"")"), unsupported, {"type \"\""}},
      {"Nvfp4GroupOf32",
       compressed("nvfp4-pack-quantized",
                  R"("num_bits":4,"type":"float","strategy":"tensor_group","group_size":32)"),
       unsupported,
       {"16 codes, not 32"}},
      {"StrategyToken",
       compressed("int-quantized", R"("strategy":"token")"),
       unsupported,
       {"strategy is \"token\""}},
      {"GroupWithoutASize",
       compressed("pack-quantized", R"("strategy":"group")"),
       invalid,
       {"no group_size"}},
      {"BlockWithoutAStructure",
       compressed("float-quantized", R"("type":"float","strategy":"block")"),
       invalid,
       {"block_structure"}},
      {"BlockOfOneNumber",
       compressed("float-quantized", R"("type":"float","strategy":"block","block_structure":[128])"),
       invalid,
       {"block_structure must be two integers"}},
      {"BlockSpelledWrong",
       compressed("float-quantized", R"("type":"float","strategy":"block","block_structure":"12a8x128")"),
       invalid,
       {"block_structure must be two integers"}},
      {"BlockSpelledShort",
       compressed("float-quantized", R"("type":"float","strategy":"block","block_structure":"128")"),
       invalid,
       {"block_structure must be two integers"}},
      {"ActivationOrderUnknown",
       compressed("pack-quantized", four_bits + R"(,"actorder":"sideways")"),
       unsupported,
       {"actorder is \"sideways\""}},
      {"WeightsThatAreNoObject",
       R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"targets":[],"weights":4}}})",
       invalid,
       {"weights", "object"}},
      {"NoGroups",
       R"({"quant_method":"compressed-tensors","format":"pack-quantized"})",
       invalid,
       {"config_groups"}},
      {"IgnoreWithALookahead",
       compressed("pack-quantized", four_bits, R"x(,"ignore":["re:(?!a)"])x"),
       unsupported,
       {"\"(?!a)\""}},
      {"LongVersion",
       compressed("pack-quantized", four_bits, R"(,"version":")" + std::string(65, '1') + "\""),
       invalid,
       {"version has more"}},

      {"Fp8OfE5m2", R"({"quant_method":"fp8","fmt":"e5m2"})", unsupported, {"fmt is \"e5m2\""}},
      {"Fp8BlockOf0",
       R"({"quant_method":"fp8","weight_block_size":[0,128]})",
       invalid,
       {"weight_block_size"}},
      {"Fp8BlockOfThree",
       R"({"quant_method":"fp8","weight_block_size":[1,2,3]})",
       invalid,
       {"weight_block_size"}},
      {"Fp8BlockNegative",
       R"({"quant_method":"fp8","weight_block_size":[-1,128]})",
       invalid,
       {"weight_block_size"}},
      {"ModelOptFp8",
       R"({"quant_method":"modelopt","quant_algo":"FP8"})",
       unsupported,
       {"quant_algo is \"FP8\""}},
      {"ModelOptMixed",
       R"({"quant_method":"modelopt","quant_algo":"MIXED_PRECISION"})",
       unsupported,
       {"\"MIXED_PRECISION\""}},
      {"ModelOptGroupOf32",
       R"({"quant_method":"modelopt","quant_algo":"NVFP4","group_size":32})",
       unsupported,
       {"group_size is 32"}},
  };
}

class QuantizationConfigRefusal : public testing::TestWithParam<Refused> {};

TEST_P(QuantizationConfigRefusal, SaysWhy) {
  const Refused& refused = GetParam();
  const auto config = QuantizationConfig::parse(R"({"quantization_config":)" + refused.config + "}");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, refused.code) << config.error().message;
  EXPECT_TRUE(config.error().message.starts_with("quantization config: ")) << config.error().message;
  for (const auto& phrase : refused.phrases) {
    EXPECT_NE(config.error().message.find(phrase), std::string::npos)
        << "'" << phrase << "' is not in: " << config.error().message;
  }
  EXPECT_LT(config.error().message.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(Configs, QuantizationConfigRefusal, testing::ValuesIn(refused_configs()),
                         [](const auto& info) { return info.param.name; });

TEST(QuantizationConfigRefusals, TextsThatAreNotJson) {
  for (const char* text : {"", "{", R"({"bits":4,"bits":8})", "{\"a\":\"\xff\"}"}) {
    const auto config = QuantizationConfig::parse(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.error().code, ErrorCode::invalid_file);
  }
  const auto deep = QuantizationConfig::parse(std::string(100'000, '['));
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code, ErrorCode::too_large);
}
}
}
