// SPDX-License-Identifier: Apache-2.0
// The linears of a checkpoint by the names of their modules: which tensors belong to one, what its method
// says of them, and what is refused.
#include <gtest/gtest.h>

#include "edgeq/import/checkpoint_linear.hpp"
#include "edgeq/import/safetensors_writer.hpp"
#include "import/checkpoint_tensors.hpp"
#include "import/temporary_folder.hpp"

namespace {

using namespace edgeq;
using test::Decoded;
using test::TensorStore;

class CheckpointLinears : public testing::Test {
 protected:
  /// Writes the tensors and opens the checkpoint and its config.
  void open(const std::vector<CheckpointTensor>& tensors, std::string_view config) {
    std::vector<safetensors::TensorDeclaration> declared;
    for (const CheckpointTensor& t : tensors) declared.push_back({std::string(t.name), t.type, t.shape});
    auto writer = safetensors::Writer::create(folder_.path("model.safetensors"), declared);
    ASSERT_TRUE(writer) << writer.error().message;
    std::vector<std::string> names;
    for (const auto& t : writer->tensors()) names.push_back(t.name);
    for (const std::string& name : names)
      for (const CheckpointTensor& t : tensors)
        if (t.name == name && !t.data.empty()) {
          ASSERT_TRUE(writer->append(name, t.data));
        }
    ASSERT_TRUE(writer->finish());
    checkpoint_ = safetensors::Checkpoint::open(folder_.path());
    ASSERT_TRUE(checkpoint_) << checkpoint_.error().message;
    config_ = QuantizationConfig::parse(config);
    ASSERT_TRUE(config_) << config_.error().message;
  }
  Result<CheckpointLinear> find(std::string_view module) {
    return CheckpointLinear::find(*checkpoint_, *config_, module);
  }
  Decoded decoded(std::string_view module, std::string* remark = nullptr) {
    const auto linear = find(module);
    EXPECT_TRUE(linear) << linear.error().message;
    return test::expect_decoded(linear->visit(test::decode, remark));
  }

  TensorStore store_;
  edgeq::test::TemporaryFolder folder_;
  Result<safetensors::Checkpoint> checkpoint_ = Error{};
  Result<QuantizationConfig> config_ = Error{};
};

constexpr std::string_view gptq_config =
    R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8, "sym": true, "desc_act": false}})";

// Codes (k + n) mod 16 in one group of 8, scale 0.5, as GPTQ version 1 and mislabelled version 2 store them;
// plain floats beside them, which the config does not mention.
TEST_F(CheckpointLinears, GptqBesidePlainFloats) {
  const std::vector<std::uint32_t> words = {0x76543210, 0x87654321, 0x98765432, 0xA9876543,
                                            0xBA987654, 0xCBA98765, 0xDCBA9876, 0xEDCBA987};
  const auto scales = [&](const char* name) {
    return store_.floats(name, ElementType::f16, {1, 8}, std::vector<float>(8, 0.5f));
  };
  open({store_.words("a.q.qweight", {1, 8}, words), store_.words("a.q.qzeros", {1, 1}, {0x77777777}),
        scales("a.q.scales"), store_.floats("a.q.bias", ElementType::f16, {8}, std::vector<float>(8, 1.0f)),
        store_.words("b.q.qweight", {1, 8}, words), store_.words("b.q.qzeros", {1, 1}, {0x88888888}),
        scales("b.q.scales"), store_.floats("lm_head.weight", ElementType::bf16, {1, 3}, {1.0f, 2.0f, -3.0f}),
        store_.floats("norm.weight", ElementType::bf16, {3}, {1.0f, 1.0f, 1.0f})},
       gptq_config);
  EXPECT_EQ(CheckpointLinear::modules(*checkpoint_), (std::vector<std::string>{"a.q", "b.q", "lm_head"}));

  std::string remark;
  const Decoded a = decoded("a.q", &remark);
  EXPECT_EQ(remark, "");
  EXPECT_EQ(a.format, "int4 sym g* f16");
  EXPECT_EQ(a(0, 0), -4.0f);
  EXPECT_EQ(a(3, 5), 0.0f);
  EXPECT_EQ(a(7, 7), 3.0f);
  EXPECT_EQ(decoded("b.q", &remark).values, a.values);
  EXPECT_NE(remark.find("read as gptq_v2"), std::string::npos);
  EXPECT_NE(find("a.q")->bias(), nullptr);
  EXPECT_EQ(find("b.q")->bias(), nullptr);
  EXPECT_NE(find("b.q")->method(), nullptr);

  const Decoded head = decoded("lm_head");
  EXPECT_EQ(head.format, "bf16");
  EXPECT_EQ(head.values, (std::vector<float>{1.0f, 2.0f, -3.0f}));
  EXPECT_EQ(find("lm_head")->method(), nullptr);
}

TEST_F(CheckpointLinears, MissingTensorsAreNamed) {
  open({store_.words("a.qweight", {1, 8}, std::vector<std::uint32_t>(8)),
        store_.words("a.qzeros", {1, 1}, {0x77777777})},
       gptq_config);
  test::expect_refused(find("a"), ErrorCode::invalid_file, {"module a has no tensor a.scales"});
  test::expect_refused(find("b"), ErrorCode::invalid_file, {"module b has no tensor b.qweight"});
}

TEST_F(CheckpointLinears, Fp8Blocks) {
  std::vector<std::uint8_t> codes(130 * 3, 0x38);
  open({store_.bytes("a.weight", {130, 3}, codes, ElementType::f8_e4m3),
        store_.floats("a.weight_scale_inv", ElementType::f32, {2, 1}, {2.0f, 3.0f}),
        store_.bytes("b.weight", {130, 3}, codes, ElementType::f8_e4m3)},
       R"({"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
           "weight_block_size": [128, 128]}})");
  const Decoded a = decoded("a");
  EXPECT_EQ(a(127, 2), 2.0f);
  EXPECT_EQ(a(128, 0), 3.0f);
  test::expect_refused(find("b")->visit(test::decode), ErrorCode::invalid_file, {"b.weight_scale_inv"});
}

TEST_F(CheckpointLinears, GptOssBlocks) {
  std::vector<std::uint8_t> codes(16, 0x21);
  open({store_.bytes("e.down_proj_blocks", {1, 1, 16}, codes),
        store_.bytes("e.down_proj_scales", {1, 1}, {0x82})},
       R"({"quantization_config": {"quant_method": "mxfp4"}})");
  EXPECT_EQ(CheckpointLinear::modules(*checkpoint_), (std::vector<std::string>{"e.down_proj"}));
  const Decoded read = decoded("e.down_proj");
  EXPECT_EQ(read(0, 0), 4.0f);
  EXPECT_EQ(read(0, 1), 8.0f);
}

TEST_F(CheckpointLinears, ModelOptAndCompressedTensorsNvFp4) {
  std::vector<std::uint8_t> codes(8);
  codes[0] = 0x52;
  const auto scale = [&](const char* name) {
    return store_.bytes(name, {1, 1}, {0x38}, ElementType::f8_e4m3);
  };
  open({store_.bytes("a.weight", {1, 8}, codes), scale("a.weight_scale"),
        store_.floats("a.weight_scale_2", ElementType::f32, {}, {0.5f})},
       R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})");
  EXPECT_EQ(decoded("a")(0, 1), 1.5f);
  open({store_.bytes("a.weight_packed", {1, 8}, codes), scale("a.weight_scale"),
        store_.floats("a.weight_global_scale", ElementType::f32, {1}, {2.0f})},
       R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
           "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float",
           "strategy": "tensor_group", "group_size": 16, "symmetric": true}}}}})");
  EXPECT_EQ(decoded("a")(0, 1), 1.5f);
}

}
