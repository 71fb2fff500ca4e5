// SPDX-License-Identifier: Apache-2.0
// What the configs of each method say of single modules.
#include "edgeq/import/quantization_config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace edgeq {
namespace {

using quantization::Awq;
using quantization::CompressedTensors;
using quantization::Fp8;
using quantization::Gptq;

QuantizationConfig parse(std::string_view text) {
  auto config = QuantizationConfig::parse(text);
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? std::move(config).value() : QuantizationConfig::parse("{}").value();
}
// The same inside a config.json.
QuantizationConfig parse_inner(std::string_view text) {
  return parse(R"({"model_type":"x","quantization_config":)" + std::string(text) + "}");
}

// The weights of a module, which must be of this method.
template <class Method>
Method weights(const QuantizationConfig& config, std::string_view module) {
  const quantization::Weights* found = config.find(module);
  if (found == nullptr || !std::holds_alternative<Method>(*found)) {
    ADD_FAILURE() << module << " is not quantized by this method";
    return {};
  }
  return std::get<Method>(*found);
}
bool is_quantized(const QuantizationConfig& config, std::string_view module) {
  return config.find(module) != nullptr;
}

TEST(QuantizationConfig, NoneInAPlainConfig) {
  const auto config = parse(R"({"model_type":"llama","hidden_size":576,"quantization_config":null})");
  EXPECT_TRUE(config.rules().empty());
  EXPECT_FALSE(is_quantized(config, "model.layers.0.mlp.up_proj"));
}

TEST(QuantizationConfig, GptqOfAutoGptq) {
  const auto config =
      parse(R"({"bits":4,"group_size":128,"damp_percent":0.01,"desc_act":true,"static_groups":false,
      "sym":false,"true_sequential":true,"model_name_or_path":null,"model_file_base_name":"model"})");
  const Gptq w = weights<Gptq>(config, "model.layers.0.mlp.up_proj");
  EXPECT_EQ(w.bits, 4u);
  EXPECT_EQ(w.group_size, 128u);
  EXPECT_TRUE(w.desc_act);
  EXPECT_FALSE(w.sym);
  EXPECT_EQ(w.checkpoint_format, Gptq::CheckpointFormat::v1);
  EXPECT_FALSE(is_quantized(config, "lm_head"));
}

TEST(QuantizationConfig, GptqDefaultsAndSynonyms) {
  const Gptq absent = weights<Gptq>(parse_inner(R"({"quant_method":"gptq","bits":8})"), "m");
  EXPECT_EQ(absent.bits, 8u);
  EXPECT_EQ(absent.group_size, 0u);
  EXPECT_FALSE(absent.desc_act);
  EXPECT_TRUE(absent.sym);
  const Gptq renamed = weights<Gptq>(
      parse(R"({"quant_method":"gptq","w_bit":3,"q_group_size":-1,"sym":null,"checkpoint_format":"gptq_v2",
               "pack_dtype":"int32","use_exllama":true,"exllama_config":{"version":1}})"),
      "m");
  EXPECT_EQ(renamed.bits, 3u);
  EXPECT_EQ(renamed.group_size, 0u);
  EXPECT_TRUE(renamed.sym);
  EXPECT_EQ(renamed.checkpoint_format, Gptq::CheckpointFormat::v2);
}

// The first pattern that matches decides; "-:" leaves a module as it is.
TEST(QuantizationConfig, DynamicOverridesOfGptqModel) {
  const auto config =
      parse_inner(R"({"quant_method":"gptq","bits":4,"group_size":128,"lm_head":true,"dynamic":{
      "+:.*\\.18\\..*gate.*":{"bits":8,"group_size":32},
      ".*\\.19\\..*gate.*":{"group_size":-1,"sym":false,"desc_act":true},
      "-:.*\\.20\\..*gate.*":{},
      "-:.*down.*":{},
      ".*\\.20\\..*":{"bits":2}}})");
  const auto at = [&](const char* module) { return weights<Gptq>(config, module); };
  EXPECT_EQ(at("model.layers.18.mlp.gate_proj").bits, 8u);
  EXPECT_EQ(at("model.layers.18.mlp.gate_proj").group_size, 32u);
  EXPECT_EQ(at("model.layers.19.mlp.gate_proj").bits, 4u);
  EXPECT_EQ(at("model.layers.19.mlp.gate_proj").group_size, 0u);
  EXPECT_FALSE(at("model.layers.19.mlp.gate_proj").sym);
  EXPECT_TRUE(at("model.layers.19.mlp.gate_proj").desc_act);
  EXPECT_FALSE(is_quantized(config, "model.layers.20.mlp.gate_proj"));
  EXPECT_FALSE(is_quantized(config, "model.layers.1.mlp.down_proj"));
  EXPECT_EQ(at("model.layers.20.mlp.up_proj").bits, 2u);
  EXPECT_EQ(at("model.layers.1.mlp.up_proj").bits, 4u);
  EXPECT_EQ(at("lm_head").bits, 4u);
}

TEST(QuantizationConfig, GptqOfSomeModulesOfEachBlock) {
  const auto config = parse_inner(R"({"quant_method":"gptq","bits":4,"group_size":64,
      "modules_in_block_to_quantize":[["self_attn.q_proj","self_attn.k_proj"],["mlp.up_proj"]]})");
  EXPECT_TRUE(is_quantized(config, "model.layers.0.self_attn.k_proj"));
  EXPECT_TRUE(is_quantized(config, "model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(is_quantized(config, "model.layers.0.self_attn.o_proj"));
  EXPECT_TRUE(is_quantized(
      parse_inner(R"({"quant_method":"gptq","bits":4,"modules_in_block_to_quantize":[]})"), "mlp.up_proj"));
}

TEST(QuantizationConfig, AwqOfAutoAwq) {
  const auto config = parse_inner(R"({"bits":4,"group_size":64,"modules_to_not_convert":["visual","gate."],
      "quant_method":"awq","version":"gemm","zero_point":true})");
  EXPECT_EQ(weights<Awq>(config, "model.layers.0.mlp.gate_proj").group_size, 64u);
  EXPECT_FALSE(is_quantized(config, "model.visual_tower.fc"));  // parts of names count
  EXPECT_FALSE(is_quantized(config, "lm_head"));
  const auto old = parse(R"({"zero_point":true,"q_group_size":-1,"w_bit":4,"version":"GEMM"})");
  EXPECT_EQ(weights<Awq>(old, "m").group_size, 0u);
}

// Names count before expressions, and both before the class of a module; `ignore` before all.
TEST(QuantizationConfig, TargetsOfCompressedTensors) {
  const auto config =
      parse_inner(R"({"quant_method":"compressed-tensors","format":"pack-quantized","version":"0.9.4",
      "quantization_status":"compressed","kv_cache_scheme":null,"sparsity_config":{},"transform_config":{},
      "ignore":["lm_head","re:.*mlp.gate$"],
      "config_groups":{
        "group_0":{"targets":["Linear"],"input_activations":null,
          "weights":{"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":128,"actorder":"weight"}},
        "group_1":{"targets":["re:.*down_proj"],"format":"float-quantized",
          "weights":{"num_bits":8,"type":"float","symmetric":true,"strategy":"block","block_structure":[128,64]}},
        "group_2":{"targets":["layers.3.down_proj"],
          "weights":{"num_bits":3,"type":"int","symmetric":false,"strategy":"channel","group_size":null,"actorder":"group"}},
        "group_3":{"targets":["re:.*kv_proj"],"weights":null}}})");
  const auto linear = weights<CompressedTensors>(config, "layers.3.up_proj");
  EXPECT_EQ(linear.format, CompressedTensors::Format::pack_quantized);
  EXPECT_EQ(linear.bits, 4u);
  EXPECT_FALSE(linear.is_float);
  EXPECT_TRUE(linear.symmetric);
  EXPECT_EQ(linear.strategy, CompressedTensors::Strategy::group);
  EXPECT_EQ(linear.group_size, 128u);
  EXPECT_EQ(linear.activation_order, CompressedTensors::ActivationOrder::none);
  EXPECT_EQ(linear.version, "0.9.4");
  const auto expression = weights<CompressedTensors>(config, "layers.4.down_proj");
  EXPECT_EQ(expression.format, CompressedTensors::Format::float_quantized);
  EXPECT_TRUE(expression.is_float);
  EXPECT_EQ(expression.strategy, CompressedTensors::Strategy::block);
  EXPECT_EQ(expression.block, (std::array<std::size_t, 2>{128, 64}));
  const auto name = weights<CompressedTensors>(config, "layers.3.down_proj");
  EXPECT_EQ(name.bits, 3u);
  EXPECT_FALSE(name.symmetric);
  EXPECT_EQ(name.strategy, CompressedTensors::Strategy::channel);
  EXPECT_EQ(name.activation_order, CompressedTensors::ActivationOrder::group);
  for (const char* module : {"lm_head", "layers.3.mlp.gate", "layers.3.kv_proj"})
    EXPECT_FALSE(is_quantized(config, module)) << module;
  EXPECT_TRUE(is_quantized(config, "layers.3.mlp.gate_proj"));
}

TEST(QuantizationConfig, FormatsOfCompressedTensors) {
  using Format = CompressedTensors::Format;
  struct Case {
    const char* format;
    const char* weights;
    Format expected;
    CompressedTensors::Strategy strategy;
    std::size_t group_size;
  };
  using Strategy = CompressedTensors::Strategy;
  const Case cases[] = {
      {"pack-quantized", R"("num_bits":8)", Format::pack_quantized, Strategy::tensor, 0},
      {"pack-quantized", R"("num_bits":4,"group_size":-1)", Format::pack_quantized, Strategy::channel, 0},
      {"pack-quantized", R"("num_bits":4,"group_size":32)", Format::pack_quantized, Strategy::group, 32},
      {"int-quantized", R"("num_bits":8,"strategy":"channel")", Format::int_quantized, Strategy::channel, 0},
      {"naive-quantized", R"("num_bits":8,"type":"float")", Format::naive_quantized, Strategy::tensor, 0},
      {"float-quantized", R"("type":"float","strategy":"block","block_structure":"128x128")",
       Format::float_quantized, Strategy::block, 0},
      {"nvfp4-pack-quantized", R"("num_bits":4,"type":"float","strategy":"tensor_group","group_size":16)",
       Format::nvfp4_pack_quantized, Strategy::tensor_group, 16},
      {"mxfp4-pack-quantized", R"("num_bits":4,"type":"float","strategy":"group","group_size":32)",
       Format::mxfp4_pack_quantized, Strategy::group, 32},
      {"mxfp8-quantized", R"("num_bits":8,"type":"float","strategy":"group","group_size":32)",
       Format::mxfp8_quantized, Strategy::group, 32},
  };
  for (const Case& example : cases) {
    const auto w = weights<CompressedTensors>(
        parse_inner(R"({"quant_method":"compressed-tensors","format":")" + std::string(example.format) +
                    R"(","config_groups":{"g":{"targets":["Linear"],"weights":{)" + example.weights + "}}}}"),
        "m");
    EXPECT_EQ(w.format, example.expected) << example.format;
    EXPECT_EQ(w.strategy, example.strategy) << example.format << example.weights;
    EXPECT_EQ(w.group_size, example.group_size) << example.format << example.weights;
    EXPECT_EQ(w.version, "");
  }
  EXPECT_FALSE(is_quantized(parse_inner(R"({"quant_method":"compressed-tensors","format":"dense",
      "config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8}}}})"),
                            "m"));
}

TEST(QuantizationConfig, Fp8OfDeepSeekAndQwen) {
  const auto blocks =
      parse_inner(R"({"activation_scheme":"dynamic","fmt":"e4m3","quant_method":"fp8","scale_fmt":"ue8m0",
      "weight_block_size":[128,128],"modules_to_not_convert":["lm_head","model.layers.0.mlp.gate"]})");
  EXPECT_EQ(weights<Fp8>(blocks, "model.layers.0.mlp.gate_proj").block,
            (std::array<std::size_t, 2>{128, 128}));
  EXPECT_FALSE(is_quantized(blocks, "model.layers.0.mlp.gate"));
  EXPECT_FALSE(is_quantized(blocks, "lm_head"));
  EXPECT_TRUE(is_quantized(blocks, "model.layers.10.mlp.gate"));
  const auto whole =
      parse_inner(R"({"quant_method":"fp8","activation_scheme":"static","ignored_layers":["lm_head"]})");
  EXPECT_FALSE(weights<Fp8>(whole, "m").block);
  EXPECT_FALSE(is_quantized(whole, "lm_head"));
}

TEST(QuantizationConfig, Mxfp4OfGptOss) {
  const auto config =
      parse_inner(R"({"modules_to_not_convert":["model.layers.*.self_attn","model.layers.*.mlp.router",
      "model.embed_tokens","lm_head"],"quant_method":"mxfp4"})");
  (void)weights<quantization::Mxfp4>(config, "model.layers.0.mlp.experts.gate_up_proj");
  EXPECT_FALSE(is_quantized(config, "model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(is_quantized(config, "model.layers.23.mlp.router"));
}

TEST(QuantizationConfig, Nvfp4OfModelOpt) {
  const auto config = parse_inner(R"({"config_groups":{"group_0":{"targets":["Linear"],
      "weights":{"dynamic":false,"num_bits":4,"type":"float","group_size":16}}},"ignore":["lm_head","model.layers.0.*"],
      "quant_algo":"NVFP4","producer":{"name":"modelopt","version":"0.29.0"},"quant_method":"modelopt"})");
  (void)weights<quantization::ModelOptNvfp4>(config, "model.layers.1.mlp.up_proj");
  EXPECT_FALSE(is_quantized(config, "model.layers.0.mlp.up_proj"));
  const auto legacy = parse(R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"NVFP4",
      "kv_cache_quant_algo":"FP8","group_size":16,"exclude_modules":["*.self_attn*","lm_head"]}})");
  (void)weights<quantization::ModelOptNvfp4>(legacy, "model.layers.1.mlp.up_proj");
  EXPECT_FALSE(is_quantized(legacy, "model.layers.1.self_attn.q_proj"));
}

TEST(QuantizationConfig, OtherPlacesInAConfig) {
  EXPECT_TRUE(
      is_quantized(parse(R"({"text_config":{"quantization_config":{"quant_method":"mxfp4"}}})"), "m"));
  EXPECT_TRUE(is_quantized(parse(R"({"compression_config":{"quant_method":"mxfp4"}})"), "m"));
  EXPECT_TRUE(is_quantized(parse(R"({"quant_method":"mxfp4"})"), "m"));
}

}
}
