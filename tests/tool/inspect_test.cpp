// SPDX-License-Identifier: Apache-2.0
// inspect: what a file holds, in which format edgeq holds it, and what is odd about it.
#include "edgeq/commands.hpp"
#include "edgeq/format/formats.hpp"
#include "tool/model_folder.hpp"

namespace {

using namespace edgeq;
using test::CheckpointBuilder;
using test::TemporaryFolder;

std::string inspect(const std::string& path, bool json, bool plan = false) {
  testing::internal::CaptureStdout();
  const Status status = tool::inspect({.common = {.json = json}, .in = path, .plan = plan});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(status) << status.error().message;
  return text;
}
nlohmann::json entry_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& entry : report["tensors"])
    if (entry["name"] == name) return entry;
  ADD_FAILURE() << "no entry " << name;
  return {};
}

TEST(Inspect, NamesShapesFormatsAndBytes) {
  TemporaryFolder folder;
  const std::string path = test::plain_checkpoint().write(folder, "plain");
  const auto report = nlohmann::json::parse(inspect(path, true));
  EXPECT_EQ(report["quantization"], "none");
  EXPECT_EQ(report["tied"], true);
  EXPECT_EQ(report["matrices"], 3);
  EXPECT_EQ(report["weights"], 40 * 64 + 2 * 136 * 64);
  EXPECT_EQ(report["other_bytes"], 128);
  const auto up = entry_of(report, "model.layers.0.up_proj");
  EXPECT_EQ(up["shape"], (std::vector<std::size_t>{136, 64}));
  EXPECT_EQ(up["stored"], "BF16");
  EXPECT_EQ(up["format"], "bf16");
  EXPECT_EQ(up["bits_per_weight"], 16.0);
  EXPECT_EQ(up["packed_bytes"], 144 * 64 * 2) << "rows are padded to 16";
  EXPECT_EQ(up["bias"], true);
  EXPECT_EQ(entry_of(report, "model.norm.weight")["format"], "kept as it is");
  const std::string table = inspect(path, false);
  EXPECT_NE(table.find("model.layers.0.up_proj    [136, 64]"), std::string::npos) << table;
  EXPECT_NE(table.find("the head is tied"), std::string::npos);
}

TEST(Inspect, ReportsAWrongLabelAndActOrder) {
  TemporaryFolder folder;
  auto w = test::IntegerLinear::random(64, 96, 32, 4, true);
  for (std::size_t k = 0; k < w.k; ++k) w.group_of.push_back(static_cast<std::int32_t>(k % 3));
  CheckpointBuilder builder;
  builder.config = {{"quantization_config",
                     {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}, {"desc_act", true}}}};
  builder.add("proj", test::write_gptq(builder.store, w, true));  // labelled as version 1
  const auto report = nlohmann::json::parse(inspect(builder.write(folder, "model"), true));
  EXPECT_EQ(report["quantization"], "gptq 4 bits g32 act-order");
  const std::string remark = entry_of(report, "proj")["remark"];
  EXPECT_NE(remark.find("labelled gptq, read as gptq_v2"), std::string::npos) << remark;
  EXPECT_NE(remark.find("act-order"), std::string::npos) << remark;
  EXPECT_EQ(entry_of(report, "proj")["format"], "int4 sym g* f16");
}

TEST(Inspect, SaysWhyAMatrixIsRefusedAndGoesOn) {
  TemporaryFolder folder;
  CheckpointBuilder builder;
  builder.config = {{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}}}};
  builder.add("a", test::write_gptq(builder.store, test::IntegerLinear::random(64, 96, 32, 4, true), false));
  builder.add("b.qweight", builder.store.words("", {8, 16}, std::vector<std::uint32_t>(8 * 16)));
  builder.add("b.qzeros", builder.store.words("", {1, 1}, {0}));
  builder.floats("b.scales", ElementType::f16, {2, 16}, std::vector<float>(32));
  const auto report = nlohmann::json::parse(inspect(builder.write(folder, "model"), true));
  EXPECT_EQ(report["refused"], 1);
  EXPECT_EQ(report["matrices"], 1);
  EXPECT_EQ(entry_of(report, "b")["format"], "refused");
  EXPECT_NE(std::string(entry_of(report, "b")["remark"]).find("b.qzeros"), std::string::npos);
}

// A program may pack formats of its own.
TEST(Inspect, GoesOnAfterAPackedFormatThatItDoesNotKnow) {
  using F = Int4<40, Float16>;
  TemporaryFolder folder;
  const std::vector<std::uint8_t> codes(16 * 40);
  const std::vector<Float16> scales(16 * 2);
  const std::vector<float> floats(16 * 8, 1.0f);
  packed::Writer writer;
  ASSERT_TRUE(writer.add<F>("a", F::View{16, 80, codes, scales}));
  ASSERT_TRUE(writer.add<F32Weight>("b", F32Weight::View{16, 8, floats}));
  ASSERT_TRUE(writer.write(folder.path("packed")));
  const auto report = nlohmann::json::parse(inspect(folder.path("packed"), true));
  EXPECT_EQ(report["matrices"], 1);
  EXPECT_EQ(report["refused"], 1);
  EXPECT_NE(std::string(entry_of(report, "a")["remark"]).find("int4 sym g40 f16"), std::string::npos);
}

TEST(Inspect, PutsNumbersInOrder) {
  TemporaryFolder folder;
  CheckpointBuilder builder;
  for (const char* name : {"layers.10.w.weight", "layers.9.w.weight", "layers.9.v.weight", "layer.weight"})
    builder.floats(name, ElementType::f32, {1, 1}, {1.0f});
  std::vector<std::string> names;
  const auto report = nlohmann::json::parse(inspect(builder.write(folder, "model"), true));
  for (const auto& entry : report["tensors"]) names.push_back(entry["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"layer", "layers.9.v", "layers.9.w", "layers.10.w"}));
}

TEST(Inspect, NamesTheKernels) {
  TemporaryFolder folder;
  const std::string text = inspect(test::plain_checkpoint().write(folder, "plain"), false, true);
  EXPECT_NE(text.find("bf16 x bf16 [1, 64] -> [1, 40]"), std::string::npos) << text;
}

TEST(Inspect, ReadsOldConfigsBesideTheWeights) {
  TemporaryFolder folder;
  CheckpointBuilder builder;
  builder.add("a", test::write_gptq(builder.store, test::IntegerLinear::random(64, 96, 32, 4, true), false));
  builder.write(folder, "model");
  folder.write("model/quantize_config.json", R"({"bits": 4, "group_size": 32})");
  EXPECT_EQ(nlohmann::json::parse(inspect(folder.path("model/model.safetensors"), true))["quantization"],
            "gptq 4 bits g32");
}

}
