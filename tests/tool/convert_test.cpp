// SPDX-License-Identifier: Apache-2.0
// convert: every code, scale and zero survives in another form, or the refusal says why it cannot.
#include "edgeq/commands.hpp"
#include "tool/model_folder.hpp"

namespace {

using namespace edgeq;
using test::CheckpointBuilder;
using test::IntegerLinear;
using test::TemporaryFolder;

class Convert : public testing::Test {
 protected:
  /// Converts a model into a new folder; returns the message of a refusal, or "".
  std::string convert(const std::string& in, const std::string& name, const std::string& form,
                      std::size_t threads = 2) {
    testing::internal::CaptureStdout();
    const Status status =
        tool::convert({.common = {.threads = threads}, .in = in, .out = folder.path(name), .form = form});
    testing::internal::GetCapturedStdout();
    return status ? "" : status.error().message;
  }
  void expect_equal(const std::string& a, const std::string& b) {
    testing::internal::CaptureStdout();
    const Status status = tool::verify({.a = a, .b = b, .exact = true});
    const std::string report = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(status) << status.error().message << "\n" << report;
  }
  /// A checkpoint of one GPTQ linear.
  std::string gptq(const std::string& name, const IntegerLinear& w, bool second = true) {
    CheckpointBuilder builder;
    builder.config = {{"hidden_size", 64},
                      {"quantization_config",
                       {{"quant_method", "gptq"},
                        {"bits", w.bits},
                        {"group_size", w.group},
                        {"sym", w.symmetric},
                        {"desc_act", !w.group_of.empty()},
                        {"checkpoint_format", second ? "gptq_v2" : "gptq"}}}};
    builder.add("layers.0.proj", test::write_gptq(builder.store, w, second));
    return builder.write(folder, name);
  }
  nlohmann::json config(const std::string& name) {
    return nlohmann::json::parse(folder.read(name + "/config.json"))["quantization_config"];
  }

  TemporaryFolder folder;
};

/// Groups of equal size, whose columns are far apart.
IntegerLinear ordered_linear(int bits, bool symmetric) {
  auto w = IntegerLinear::random(64, 96, 32, bits, symmetric);
  for (std::size_t k = 0; k < w.k; ++k) w.group_of.push_back(static_cast<std::int32_t>((k * 7) % 3));
  return w;
}

// Whatever a GPTQ file of this tool went through, its bytes come back.
TEST_F(Convert, GoesRoundWithTheSameBytes) {
  for (const int bits : {4, 8})
    for (const bool symmetric : {false, true})
      for (const bool ordered : {false, true}) {
        const std::string name = std::to_string(bits) + (symmetric ? "s" : "z") + (ordered ? "o" : "");
        SCOPED_TRACE(name);
        const auto w =
            ordered ? ordered_linear(bits, symmetric) : IntegerLinear::random(64, 96, 32, bits, symmetric);
        const std::string original = gptq(name, w, false), first = folder.path(name + "1"),
                          second = folder.path(name + "2"), third = folder.path(name + "3");
        ASSERT_EQ(convert(original, name + "1", "gptq"), "");
        ASSERT_EQ(convert(first, name + "2", "compressed-tensors"), "");
        ASSERT_EQ(convert(second, name + "3", "gptq"), "");
        EXPECT_TRUE(folder.read(name + "1/model.safetensors") == folder.read(name + "3/model.safetensors"));
        for (const std::string& path : {first, second, third}) {
          expect_equal(original, path);
          EXPECT_EQ(test::weights_of(path, "layers.0.proj"), w.values());
        }
        EXPECT_EQ(config(name + "1")["checkpoint_format"], "gptq_v2");
        EXPECT_EQ(config(name + "1")["desc_act"], ordered);
        EXPECT_EQ(config(name + "2")["config_groups"]["group_0"]["weights"]["symmetric"], symmetric);
      }
}

TEST_F(Convert, ReadsEveryLayoutOfIntegers) {
  test::for_each_model(folder, [&](const std::string& name, const std::string& path) {
    if (!name.starts_with("gptq") && !name.starts_with("awq") && !name.starts_with("compressed")) return;
    SCOPED_TRACE(name);
    for (const char* form : {"gptq", "compressed-tensors"}) {
      ASSERT_EQ(convert(path, name + form, form), "");
      expect_equal(path, folder.path(name + form));
    }
    ASSERT_EQ(convert(path, name + ".eqp", "packed"), "");
    expect_equal(path, folder.path(name + ".eqp"));
  });
}

TEST_F(Convert, MovesFloat8BetweenItsForms) {
  test::for_each_model(folder, [&](const std::string& name, const std::string& path) {
    if (!name.starts_with("fp8")) return;
    SCOPED_TRACE(name);
    ASSERT_EQ(convert(path, name + "c", "compressed-tensors"), "");
    ASSERT_EQ(convert(folder.path(name + "c"), name + "f", "fp8"), "");
    expect_equal(path, folder.path(name + "c"));
    expect_equal(path, folder.path(name + "f"));
    EXPECT_NE(convert(path, name + "g", "gptq").find("it is fp8 e4m3"), std::string::npos);
  });
  EXPECT_EQ(config("fp8_blockc")["config_groups"]["group_0"]["weights"]["block_structure"],
            (std::vector{64, 32}));
  EXPECT_EQ(config("fp8_blockf")["weight_block_size"], (std::vector{64, 32}));
}

// A scale for all of W, and blocks that are larger than W, keep their meaning.
TEST_F(Convert, KeepsTheKindOfFloat8Scales) {
  CheckpointBuilder tensor, blocks;
  const std::vector<std::uint8_t> codes(8 * 16, 0x38);
  tensor.config = {{"quantization_config", {{"quant_method", "fp8"}}}};
  tensor.add("a.weight", tensor.store.bytes("", {8, 16}, codes, ElementType::f8_e4m3));
  tensor.floats("a.weight_scale", ElementType::f32, {}, {0.5f});
  blocks.config = {{"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {8, 8}}}}};
  for (const auto& [name, n] : {std::pair{"a", std::size_t{8}}, std::pair{"b", std::size_t{16}}}) {
    const std::string module = name;
    blocks.add(module + ".weight",
               blocks.store.bytes("", {n, 8}, std::vector<std::uint8_t>(n * 8, 0x38), ElementType::f8_e4m3));
    blocks.floats(module + ".weight_scale_inv", ElementType::f32, {n / 8, 1},
                  std::vector<float>(n / 8, 0.25f));
  }
  const std::string a = tensor.write(folder, "tensor"), b = blocks.write(folder, "blocks");
  for (const std::string& path : {a, b})
    for (const char* form : {"compressed-tensors", "fp8"}) {
      SCOPED_TRACE(path + form);
      ASSERT_EQ(convert(path, "out", form), "");
      expect_equal(path, folder.path("out"));
    }
}

TEST_F(Convert, SaysOnceWhatMostLinearsShare) {
  CheckpointBuilder builder;
  builder.config = {{"quantization_config",
                     {{"quant_method", "gptq"},
                      {"bits", 4},
                      {"group_size", 32},
                      {"checkpoint_format", "gptq_v2"},
                      {"dynamic", {{"+:^b$", {{"bits", 8}, {"group_size", 48}}}}}}}};
  builder.add("a", test::write_gptq(builder.store, IntegerLinear::random(64, 96, 32, 4, true), true));
  builder.add("b", test::write_gptq(builder.store, IntegerLinear::random(64, 96, 48, 8, true), true));
  builder.add("c.x", test::write_gptq(builder.store, IntegerLinear::random(64, 96, 32, 4, true), true));
  builder.floats("plain.weight", ElementType::f16, {4, 4}, std::vector<float>(16, 1.0f));
  const std::string path = builder.write(folder, "mixed");
  ASSERT_EQ(convert(path, "g", "gptq"), "");
  ASSERT_EQ(convert(path, "c", "compressed-tensors"), "");
  for (const char* name : {"g", "c"}) expect_equal(path, folder.path(name));
  EXPECT_EQ(config("g")["bits"], 4);
  EXPECT_EQ(config("g")["dynamic"]["+:^b$"]["bits"], 8);
  EXPECT_TRUE(config("g")["dynamic"].contains("-:^plain$"));
  EXPECT_EQ(config("c")["config_groups"]["group_1"]["targets"], (std::vector<std::string>{"b"}));
  EXPECT_EQ(config("c")["ignore"], (std::vector<std::string>{"plain"}));
}

TEST_F(Convert, KeepsTheRestOfTheFolder) {
  const std::string path = gptq("model", IntegerLinear::random(64, 96, 32, 4, true));
  folder.write("model/tokenizer.json", "{1}");
  folder.write("model/quantize_config.json", "{}");
  ASSERT_EQ(convert(path, "c", "compressed-tensors"), "");
  EXPECT_EQ(folder.read("c/tokenizer.json"), "{1}");
  EXPECT_EQ(folder.read("c/quantize_config.json"), "") << "a config of the old form is not copied";
  EXPECT_EQ(nlohmann::json::parse(folder.read("c/config.json"))["hidden_size"], 64);
  ASSERT_EQ(convert(path, "g", "gptq"), "");
  EXPECT_EQ(nlohmann::json::parse(folder.read("g/quantize_config.json")), config("g"));
}

TEST_F(Convert, WritesTheSameBytesOnAnyNumberOfThreads) {
  const std::string path = gptq("model", ordered_linear(4, false), false);
  for (const char* form : {"gptq", "compressed-tensors"}) {
    ASSERT_EQ(convert(path, "one", form, 1), "");
    ASSERT_EQ(convert(path, "three", form, 3), "");
    EXPECT_TRUE(folder.read("one/model.safetensors") == folder.read("three/model.safetensors"));
  }
}

TEST_F(Convert, RefusesWhatAFormCannotHold) {
  auto uneven = IntegerLinear::random(64, 96, 32, 4, true);
  for (std::size_t k = 0; k < uneven.k; ++k) uneven.group_of.push_back(k < 40 ? 0 : k < 70 ? 1 : 2);
  EXPECT_NE(convert(gptq("uneven", uneven), "x", "gptq").find("act-order are uneven"), std::string::npos);

  CheckpointBuilder short_group;
  short_group.config = {{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}}}};
  short_group.add(
      "proj", {short_group.store.words("l.qweight", {12, 8}, std::vector<std::uint32_t>(96)),
               short_group.store.words("l.qzeros", {2, 1}, {0x77777777u, 0x77777777u}),
               short_group.store.floats("l.scales", ElementType::f16, {2, 8}, std::vector<float>(16, 1.0f))});
  const std::string path = short_group.write(folder, "short");
  EXPECT_NE(convert(path, "x", "compressed-tensors").find("K = 96 is no multiple of the group, 64"),
            std::string::npos);
  EXPECT_EQ(convert(path, "x", "gptq"), "");

  CheckpointBuilder mxfp4;
  mxfp4.config = {{"quantization_config", {{"quant_method", "mxfp4"}}}};
  mxfp4.add("proj_blocks", mxfp4.store.bytes("", {2, 1, 16}, std::vector<std::uint8_t>(32)));
  mxfp4.add("proj_scales", mxfp4.store.bytes("", {2, 1}, {127, 127}));
  EXPECT_NE(convert(mxfp4.write(folder, "mxfp4"), "x", "compressed-tensors").find("it is e2m1"),
            std::string::npos);

  test::GgufWriter gguf;
  gguf.add_tensor("blk.0.up.weight", gguf::TensorType::q4_0, {32, 16}, test::pattern(16 * 18));
  folder.write("file.gguf", gguf.bytes());
  EXPECT_NE(convert(folder.path("file.gguf"), "x", "gptq").find("a GGUF file has neither"),
            std::string::npos);
  const std::string plain = test::plain_checkpoint().write(folder, "plain");
  EXPECT_NE(convert(plain, "x", "gptq").find("no linear is quantized"), std::string::npos);
  EXPECT_NE(convert(plain, "plain", "gptq").find("is the folder that is read"), std::string::npos);
}

}
