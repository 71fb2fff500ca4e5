// SPDX-License-Identifier: Apache-2.0
// pack: whatever holds the weights, the packed file holds the same ones, to the bit, on any number of
// threads.
#include "edgeq/commands.hpp"
#include "tool/model_folder.hpp"

namespace {

using namespace edgeq;
using test::CheckpointBuilder;
using test::TemporaryFolder;

class Pack : public testing::Test {
 protected:
  /// Packs a model; returns the message of a refusal, or "".
  std::string pack(const std::string& in, tool::PackCommand options = {}) {
    options.in = in;
    options.out = out();
    testing::internal::CaptureStdout();
    const Status status = tool::pack(options);
    printed = testing::internal::GetCapturedStdout();
    return status ? "" : status.error().message;
  }
  std::string out() const { return folder.path("out.eqp"); }
  /// The packed file as a model.
  tool::ModelFile packed() const {
    auto model = tool::ModelFile::open(out());
    EXPECT_TRUE(model) << model.error().message;
    return *std::move(model);
  }

  TemporaryFolder folder;
  std::string printed;
};

TEST_F(Pack, HoldsEveryKindOfModelExactly) {
  int models = 0;
  test::for_each_model(folder, [&](const std::string& name, const std::string& path) {
    SCOPED_TRACE(name);
    ++models;
    ASSERT_EQ(pack(path), "");
    const auto stored = test::weights_of(path, "model.layers.0.proj"),
               packed_values = test::weights_of(out(), "model.layers.0.proj");
    ASSERT_EQ(stored.size(), packed_values.size());
    EXPECT_EQ(std::memcmp(stored.data(), packed_values.data(), stored.size() * sizeof(float)), 0);
    testing::internal::CaptureStdout();
    const Status same = tool::verify({.a = path, .b = out(), .exact = true});
    const Status intact = tool::verify({.a = out()});
    testing::internal::GetCapturedStdout();
    EXPECT_TRUE(same) << same.error().message;
    EXPECT_TRUE(intact) << intact.error().message;
  });
  EXPECT_EQ(models, 4 * 2 * 2 * 2 + 4 + 2 + 3 + 1);
}

TEST_F(Pack, WritesTheSameBytesOnAnyNumberOfThreads) {
  const std::string path = test::plain_checkpoint().write(folder, "plain");
  ASSERT_EQ(pack(path, {.common = {.threads = 1}}), "");
  const std::string one = folder.read("out.eqp");
  ASSERT_EQ(pack(path, {.common = {.threads = 3}}), "");
  EXPECT_TRUE(one == folder.read("out.eqp"));
}

TEST_F(Pack, KeepsATiedEmbeddingUnlessToldOtherwise) {
  const std::string path = test::plain_checkpoint().write(folder, "plain");
  const auto format_of = [&](const char* name) {
    const tool::ModelFile model = packed();
    const tool::ModelItem* item = model.find(name);
    return item == nullptr ? "missing" : item->stored;
  };
  ASSERT_EQ(pack(path), "");
  EXPECT_EQ(format_of("model.embed_tokens"), "BF16");
  EXPECT_EQ(format_of("model.layers.0.up_proj"), "bf16");
  EXPECT_EQ(format_of("model.norm.weight"), "BF16");
  EXPECT_EQ(format_of("lm_head"), "missing");
  EXPECT_NE(printed.find("tied"), std::string::npos);
  ASSERT_EQ(pack(path, {.pack_embeddings = true}), "");
  EXPECT_EQ(format_of("model.embed_tokens"), "bf16");
  ASSERT_EQ(pack(path, {.untie = true}), "");
  EXPECT_EQ(format_of("model.embed_tokens"), "BF16");
  EXPECT_EQ(format_of("lm_head"), "bf16");
  EXPECT_EQ(test::weights_of(out(), "lm_head"), test::weights_of(path, "model.embed_tokens"));
}

TEST_F(Pack, RefusesToUntieWhatIsNotTied) {
  CheckpointBuilder builder = test::plain_checkpoint();
  builder.config["tie_word_embeddings"] = false;
  EXPECT_NE(pack(builder.write(folder, "plain"), {.untie = true}).find("not tied"), std::string::npos);
}

TEST_F(Pack, KeepsTheBias) {
  const std::string path = test::plain_checkpoint().write(folder, "plain");
  ASSERT_EQ(pack(path), "");
  const auto bias = packed().find("model.layers.0.up_proj")->read_bias();
  ASSERT_TRUE(bias);
  EXPECT_EQ(*bias, test::bf16_floats(136, 3));
}

TEST_F(Pack, NamesStaticGroups) {
  for (const std::size_t group : {std::size_t{32}, std::size_t{48}}) {
    const auto w = test::IntegerLinear::random(32, 96, group, 4, true);
    CheckpointBuilder builder;
    builder.config = {
        {"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", group}}}};
    builder.add("proj", test::write_gptq(builder.store, w, false));
    const std::string path = builder.write(folder, "g" + std::to_string(group));
    ASSERT_EQ(pack(path), "");
    EXPECT_EQ(packed().find("proj")->stored, "int4 sym g* f16");
    ASSERT_EQ(pack(path, {.pack = {.static_groups = true}}), "");
    EXPECT_EQ(packed().find("proj")->stored, group == 32 ? "int4 sym g32 f16" : "int4 sym g* f16");
    EXPECT_EQ(test::weights_of(out(), "proj"), w.values());
  }
}

// Blocks have no element type to keep them as.
TEST_F(Pack, PacksEmbeddingsInBlocks) {
  test::GgufWriter gguf;
  gguf.add_tensor("token_embd.weight", gguf::TensorType::q8_0, {32, 20}, test::pattern(20 * 34));
  gguf.add_tensor("blk.0.ffn_up.weight", gguf::TensorType::q8_0, {32, 20}, test::pattern(20 * 34));
  gguf.add_tensor("blk.0.ffn_up.bias", gguf::TensorType::f32, {20}, std::vector<std::byte>(80));
  folder.write("file.gguf", gguf.bytes());
  ASSERT_EQ(pack(folder.path("file.gguf")), "");
  const tool::ModelFile model = packed();
  EXPECT_EQ(model.items.size(), 2u);
  EXPECT_EQ(model.find("token_embd")->stored, "int8 sym g32 f16");
  EXPECT_TRUE(model.find("blk.0.ffn_up")->bias);
}

// Every format that a GGUF type is read as must be one that packed files are read with.
TEST_F(Pack, ReadsBackEveryTypeOfGguf) {
  int types = 0;
  for (std::uint32_t id = 0; id < 64; ++id) {
    const auto type = static_cast<gguf::TensorType>(id);
    const gguf::TypeInfo* info = gguf::type_info(type);
    if (info == nullptr) continue;
    SCOPED_TRACE(info->name);
    const std::size_t k = 2 * std::max<std::size_t>(info->block_elements, 128);
    test::GgufWriter gguf;
    gguf.add_tensor("proj.weight", type, {k, 20},
                    std::vector<std::byte>(20 * k / info->block_elements * info->block_bytes));
    folder.write("file.gguf", gguf.bytes());
    const auto model = tool::ModelFile::open(folder.path("file.gguf"));
    ASSERT_TRUE(model) << model.error().message;
    if (model->items.front().weights == nullptr) continue;
    ++types;
    ASSERT_EQ(pack(folder.path("file.gguf")), "");
    EXPECT_EQ(test::weights_of(out(), "proj"), test::weights_of(folder.path("file.gguf"), "proj"));
  }
  EXPECT_GE(types, 8);
}

TEST_F(Pack, RefusesInWords) {
  const std::string path = test::plain_checkpoint().write(folder, "plain");
  ASSERT_EQ(pack(path), "");
  EXPECT_NE(pack(out()).find("is packed already"), std::string::npos);
  EXPECT_NE(pack(folder.path("nowhere")).find("cannot open"), std::string::npos);
  CheckpointBuilder builder;
  builder.config = {{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}}}};
  builder.add("proj.qweight", builder.store.words("", {8, 16}, std::vector<std::uint32_t>(8 * 16)));
  EXPECT_NE(pack(builder.write(folder, "broken")).find("module proj has no tensor proj.qzeros"),
            std::string::npos);
}

}
