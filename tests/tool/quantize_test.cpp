// SPDX-License-Identifier: Apache-2.0
// quantize: what the importers read of the files is what the quantizer meant, in every form and on any number
// of threads.
#include "edgeq/commands.hpp"
#include "edgeq/quantize/float8.hpp"
#include "edgeq/quantize/round_to_nearest.hpp"
#include "tool/model_folder.hpp"

namespace {

using namespace edgeq;
using test::CheckpointBuilder;
using test::TemporaryFolder;

constexpr const char* up = "model.layers.0.up_proj";      // [136, 64]
constexpr const char* down = "model.layers.0.down_proj";  // [64, 136]

class Quantize : public testing::Test {
 protected:
  Quantize() : plain(test::plain_checkpoint().write(folder, "plain")) {}

  /// Quantizes the plain checkpoint, or another one; returns the message of a refusal, or "".
  std::string quantize(tool::QuantizeOptions options) {
    if (options.in.empty()) options.in = plain;
    options.out = out();
    std::filesystem::remove_all(out());
    testing::internal::CaptureStdout();
    const Status status = tool::quantize(options);
    testing::internal::GetCapturedStdout();
    EXPECT_FALSE(std::filesystem::exists(out() + ".codes.part"));
    return status ? "" : status.error().message;
  }
  std::string out() const { return folder.path("out"); }
  std::string stored(const char* name) const {
    const auto model = tool::ModelFile::open(out());
    EXPECT_TRUE(model) << model.error().message;
    const tool::ModelItem* item = model ? model->find(name) : nullptr;
    return item == nullptr            ? "missing"
           : item->weights == nullptr ? "refused: " + item->refusal
                                      : item->weights->format();
  }
  nlohmann::json config() const { return nlohmann::json::parse(folder.read("out/config.json")); }

  /// W of a quantized view, [N, K].
  template <class F>
  static std::vector<float> decoded(const typename F::View& view) {
    std::vector<float> values;
    for (std::size_t n = 0; n < view.n; ++n)
      for (std::size_t k = 0; k < view.k; ++k) values.push_back(F::decode(view, n, k));
    return values;
  }
  template <class F>
  std::vector<float> rounded(const char* module, std::size_t n, std::size_t k, std::size_t group,
                             bool search) const {
    const auto w = test::weights_of(plain, module);
    const auto q = quantize::round_to_nearest<F>(
        {w.data(), n, k}, search ? quantize::Search::squared_error : quantize::Search::extremes, group);
    return decoded<F>(q.view());
  }
  /// Inputs of both linears: few directions, some columns larger than others.
  std::string calibration() const {
    CheckpointBuilder builder;
    const auto inputs = [](std::size_t k) {
      const auto common = test::random_floats(300 * 6, 10), mix = test::random_floats(6 * k, 11),
                 noise = test::random_floats(300 * k, 12);
      std::vector<float> x(300 * k);
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t c = 0; c < 6; ++c) x[i] += common[i / k * 6 + c] * mix[c * k + i % k];
        x[i] = (x[i] + 0.1f * noise[i]) * (i % k % 9 == 4 ? 8.0f : 1.0f);
      }
      return x;
    };
    builder.floats(std::string(up) + ".input", ElementType::f16, {3, 100, 64}, inputs(64));
    builder.floats(down, ElementType::f32, {300, 136}, inputs(136));
    return builder.write(folder, "calibration") + "/model.safetensors";
  }

  TemporaryFolder folder;
  std::string plain;
};

TEST_F(Quantize, IsReadAsWhatRoundingMeant) {
  for (const char* form : {"gptq", "compressed-tensors", "packed"})
    for (const bool search : {false, true}) {
      SCOPED_TRACE(std::string(form) + (search ? ", search" : ""));
      ASSERT_EQ(quantize({.group = "34", .search = search, .ignore = {up}, .form = form}), "");
      EXPECT_EQ(test::weights_of(out(), down),
                (rounded<Int4<dynamic_group, BFloat16>>(down, 64, 136, 34, search)));
      EXPECT_EQ(test::weights_of(out(), up), test::weights_of(plain, up));
      ASSERT_EQ(quantize({.format = "int8",
                          .group = "channel",
                          .symmetric = false,
                          .search = search,
                          .scales = "f32",
                          .form = form}),
                "");
      EXPECT_EQ(test::weights_of(out(), up),
                (rounded<Int8Zero<dynamic_group, float>>(up, 136, 64, 64, search)));
      EXPECT_EQ(test::weights_of(out(), "model.embed_tokens"), test::weights_of(plain, "model.embed_tokens"));
    }
}

TEST_F(Quantize, IsReadAsWhatRoundingToFloat8Meant) {
  using F = Fp8Block<dynamic_group, dynamic_group, Float8E4M3>;
  const auto w = test::weights_of(plain, up);
  const auto blocks = quantize::scaled_float<F>({w.data(), 136, 64}, 48, 40),
             rows = quantize::scaled_float<F>({w.data(), 136, 64}, 1, 64);
  for (const char* form : {"fp8", "compressed-tensors", "packed"}) {
    SCOPED_TRACE(form);
    ASSERT_EQ(quantize({.format = "fp8", .block = "48x40", .form = form}), "");
    EXPECT_EQ(test::weights_of(out(), up), decoded<F>(blocks.view()));
    ASSERT_EQ(quantize({.format = "fp8", .form = form}), "");
    EXPECT_EQ(test::weights_of(out(), up), decoded<F>(rows.view()));
  }
}

// One file by GPTQ, whatever its form.
TEST_F(Quantize, WritesOneResultInEveryForm) {
  const std::string inputs = calibration();
  for (const char* order : {"none", "group", "static"}) {
    std::vector<float> expected[2];
    for (const char* form : {"gptq", "compressed-tensors", "packed"}) {
      SCOPED_TRACE(std::string(order) + ", " + form);
      ASSERT_EQ(
          quantize({.group = "8", .method = "gptq", .calibration = inputs, .act_order = order, .form = form}),
          "");
      if (expected[0].empty()) {
        expected[0] = test::weights_of(out(), up);
        expected[1] = test::weights_of(out(), down);
        EXPECT_NE(expected[0], (rounded<Int4<dynamic_group, BFloat16>>(up, 136, 64, 8, false)));
      }
      EXPECT_EQ(test::weights_of(out(), up), expected[0]);
      EXPECT_EQ(test::weights_of(out(), down), expected[1]);
    }
  }
}

TEST_F(Quantize, ChoosesTheActOrderThatReadersKnow) {
  const tool::QuantizeOptions options{
      .group = "8", .method = "gptq", .calibration = calibration(), .act_order = "auto"};
  ASSERT_EQ(quantize(options), "");
  EXPECT_FALSE(config()["quantization_config"]["config_groups"]["group_0"]["weights"].contains("actorder"));
  auto gptq = options;
  gptq.form = "gptq";
  ASSERT_EQ(quantize(gptq), "");
  EXPECT_EQ(config()["quantization_config"]["desc_act"], true);
}

TEST_F(Quantize, WritesTheSameBytesOnAnyNumberOfThreads) {
  const std::string inputs = calibration();
  std::vector<tool::QuantizeOptions> all = {
      {.group = "8", .search = true, .form = "gptq"},
      {.format = "fp8", .block = "48x40", .form = "fp8"},
      {.group = "8", .symmetric = false, .method = "gptq", .calibration = inputs, .act_order = "auto"}};
  for (tool::QuantizeOptions& options : all) {
    std::string bytes[2];
    for (const std::size_t threads : {1, 3}) {
      options.common.threads = threads;
      ASSERT_EQ(quantize(options), "");
      bytes[threads / 2] = folder.read("out/model.safetensors") + folder.read("out/config.json");
    }
    EXPECT_TRUE(bytes[0] == bytes[1]);
  }
}

TEST_F(Quantize, GivesATiedHeadWeightsOfItsOwn) {
  ASSERT_EQ(quantize({.group = "8"}), "");
  EXPECT_EQ(stored("lm_head"), "missing");
  EXPECT_EQ(config()["tie_word_embeddings"], true);
  EXPECT_EQ(config()["quantization_config"]["ignore"], (std::vector<std::string>{"lm_head"}));
  for (const char* form : {"gptq", "compressed-tensors", "packed"}) {
    ASSERT_EQ(quantize({.group = "32", .ignore = {"re:.*down"}, .head = true, .form = form}), "");
    EXPECT_EQ(stored("lm_head"), "int4 sym g* bf16");
    EXPECT_EQ(stored("model.embed_tokens"), "bf16");
    EXPECT_EQ(stored(down), "bf16");
    EXPECT_EQ(test::weights_of(out(), "lm_head"),
              (rounded<Int4<dynamic_group, BFloat16>>("model.embed_tokens", 40, 64, 32, false)));
  }
  ASSERT_EQ(quantize({.group = "32", .ignore = {"re:.*down"}, .head = true, .form = "gptq"}), "");
  EXPECT_EQ(config()["tie_word_embeddings"], false);
  EXPECT_EQ(config()["quantization_config"]["lm_head"], true);
}

TEST_F(Quantize, QuantizesAGgufFileIntoAPackedOne) {
  test::GgufWriter gguf;
  std::vector<std::byte> bytes(16 * 32 * 4);
  const auto w = test::random_floats(16 * 32, 7);
  std::memcpy(bytes.data(), w.data(), bytes.size());
  gguf.add_tensor("blk.0.up.weight", gguf::TensorType::f32, {32, 16}, bytes);
  folder.write("file.gguf", gguf.bytes());
  ASSERT_EQ(
      quantize(
          {.in = folder.path("file.gguf"), .group = "32", .form = "packed", .pack = {.static_groups = true}}),
      "");
  EXPECT_EQ(stored("blk.0.up"), "int4 sym g32 f32");
  EXPECT_NE(quantize({.in = folder.path("file.gguf"), .group = "32"}).find("a GGUF file has neither"),
            std::string::npos);
}

TEST_F(Quantize, RefusesInWords) {
  const auto says = [&](const tool::QuantizeOptions& options, const char* words) {
    const std::string message = quantize(options);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says({.group = "none"}, "--group is \"none\"");
  says({.group = "0"}, "--group is \"0\"");
  says({.format = "fp8", .symmetric = false, .form = "fp8"}, "no zero points");
  says({.format = "fp8", .block = "128", .form = "fp8"}, "--block is \"128\"");
  says({.format = "fp8", .form = "gptq"}, "cannot be written as gptq: it is fp8");
  says({.form = "fp8"}, "cannot be written as fp8: it is integers of 4 bits");
  says({.group = "32"},
       "down_proj cannot be written as compressed-tensors: K = 136 is no multiple of the group, 32");
  says({.method = "gptq"}, "need each other");
  says({.act_order = "auto"}, "--act-order is for --method gptq");
  says({.group = "8", .ignore = {"re:("}}, "(");
  says({.group = "8", .ignore = {"re:.*"}}, "has no linear of plain floats");
  const std::string inputs = calibration();
  says({.group = "8", .method = "gptq", .calibration = inputs, .head = true}, "no tensor lm_head");
  CheckpointBuilder wrong;
  wrong.floats(down, ElementType::f32, {2, 135}, std::vector<float>(270));
  says({.group = "8", .method = "gptq", .calibration = wrong.write(folder, "wrong"), .ignore = {up}},
       "is F32 [2, 135]; its last extent must be K = 136");
}

}
