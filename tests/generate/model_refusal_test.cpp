// SPDX-License-Identifier: Apache-2.0
// Model files that cannot be run are refused, each with one sentence that names the reason.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "generate/decoder.hpp"
#include "generate/model.hpp"
#include "generate/model_text.hpp"
#include "generate/tiny_model.hpp"

namespace {

using edgeq::gguf::TensorType;
using edgeq::test::GgufWriter;
using generate::test::TinyModel;

const edgeq::ThreadPool pool(1);

generate::Model load(const TinyModel& model) {
  const auto bytes = model.bytes();
  return generate::load_model(value_or_throw(edgeq::gguf::File::parse(bytes)), pool, {});
}

std::string refusal(const TinyModel& model) {
  try {
    load(model);
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// The model with one key replaced, or added.
template <class T>
TinyModel with_key(const std::string& key, T value) {
  TinyModel model;
  model.without = {key};
  model.more = [=](GgufWriter& writer) { writer.add(key, value); };
  return model;
}

TinyModel with_shape(const std::string& tensor, std::size_t rows, std::size_t columns) {
  TinyModel model;
  model.shapes[tensor] = {rows, columns};
  return model;
}

TinyModel without(const std::string& name) {
  TinyModel model;
  model.without = {name};
  return model;
}

TinyModel with_tensor(const std::string& name, TensorType type, std::size_t columns, std::size_t bytes) {
  TinyModel model;
  model.without = {name};
  model.more = [=](GgufWriter& writer) {
    writer.add_tensor(name, type, {columns}, edgeq::test::pattern(bytes));
  };
  return model;
}

TEST(ModelRefusal, TheModelItselfIsNotRefused) {
  EXPECT_EQ(refusal(TinyModel()), "not refused");
}

TEST(ModelRefusal, Architecture) {
  TinyModel model;
  model.architecture = "mamba";
  EXPECT_EQ(refusal(model),
            "the model's architecture is \"mamba\"; only \"llama\" and \"gemma3\" are supported");
  EXPECT_EQ(refusal(without("general.architecture")),
            "the model's architecture is \"\"; only \"llama\" and \"gemma3\" are supported");
}

TEST(ModelRefusal, Keys) {
  EXPECT_EQ(refusal(without("llama.block_count")), "the model file's key llama.block_count is missing");
  EXPECT_EQ(refusal(with_key("llama.block_count", std::uint32_t{0})),
            "the model file's key llama.block_count is 0, not from 1 to 16777216");
  EXPECT_EQ(refusal(with_key("llama.embedding_length", std::uint64_t{1} << 63)),
            "the model file's key llama.embedding_length is 9223372036854775808, not from 1 to 16777216");
  EXPECT_EQ(refusal(with_key("llama.attention.head_count", 4.0f)),
            "the model file's key llama.attention.head_count is not a natural number");
  EXPECT_EQ(refusal(with_key("llama.attention.layer_norm_rms_epsilon", std::uint32_t{1})),
            "the model file's key llama.attention.layer_norm_rms_epsilon is not a floating-point number");
  EXPECT_EQ(refusal(with_key("llama.rope.freq_base", -1.0f)),
            "the model file's key llama.rope.freq_base is -1.000000, not a finite number above 0");
  EXPECT_EQ(refusal(with_key("split.count", std::uint16_t{3})),
            "the file is one part of a model that is split into 3; merge the parts first");
}

TEST(ModelRefusal, Heads) {
  EXPECT_EQ(refusal(with_key("llama.attention.head_count_kv", std::uint32_t{3})),
            "the model has 4 heads, which 3 key-value heads cannot share evenly");
  EXPECT_EQ(refusal(with_key("llama.attention.head_count_kv", std::uint32_t{8})),
            "the model has 4 heads, which 8 key-value heads cannot share evenly");
  EXPECT_EQ(refusal(with_key("llama.attention.head_count", std::uint32_t{6})),
            "the model's width, 32, is not a multiple of its 6 heads");
  EXPECT_EQ(refusal(with_key("llama.attention.value_length", std::uint32_t{16})),
            "the values of a head have 16 elements, its keys 8; they must be equal");
  EXPECT_EQ(refusal(with_key("llama.rope.dimension_count", std::uint32_t{7})),
            "llama.rope.dimension_count is 7; it must be even and at most the head's 8");
  EXPECT_EQ(refusal(with_key("llama.rope.dimension_count", std::uint32_t{10})),
            "llama.rope.dimension_count is 10; it must be even and at most the head's 8");
}

TEST(ModelRefusal, OtherArithmetic) {
  EXPECT_EQ(refusal(with_key("llama.rope.scaling.type", "yarn")),
            "the rope scaling \"yarn\" is not supported; \"linear\" is");
  EXPECT_EQ(refusal(with_key("llama.rope.scaling.type", "linear")),
            "the model file's key llama.rope.scaling.factor is missing");
  EXPECT_EQ(refusal(with_key("llama.expert_count", std::uint32_t{8})),
            "the model file sets llama.expert_count, which is not supported");
  EXPECT_EQ(refusal(with_key("llama.logit_scale", 0.5f)),
            "the model file sets llama.logit_scale, which is not supported");
  EXPECT_EQ(refusal(with_key("llama.attention.causal", false)),
            "the model file sets llama.attention.causal, which is not supported");
  EXPECT_EQ(refusal(with_key("llama.expert_count", std::uint32_t{0})), "not refused");
  EXPECT_EQ(refusal(with_key("llama.attention.causal", true)), "not refused");
}

TEST(ModelRefusal, OtherGemmas) {
  const auto gemma = [](const char* key, auto value) {
    TinyModel model;
    model.architecture = "gemma3";
    model.more = [=](GgufWriter& writer) { writer.add(key, value); };
    return model;
  };
  EXPECT_EQ(refusal(gemma("gemma3.attn_logit_softcapping", 0.0f)), "not refused");
  EXPECT_EQ(refusal(gemma("gemma3.attn_logit_softcapping", 50.0f)),
            "the model file sets gemma3.attn_logit_softcapping, which is not supported");
  EXPECT_EQ(refusal(gemma("gemma3.final_logit_softcapping", 30.0f)),
            "the model file sets gemma3.final_logit_softcapping, which is not supported");
  EXPECT_EQ(refusal(gemma("gemma3.rope.scaling.type", "yarn")),
            "the rope scaling \"yarn\" is not supported; \"linear\" is");
  TinyModel model;
  model.architecture = "gemma3";
  model.without = {"blk.1.post_ffw_norm.weight"};
  EXPECT_EQ(refusal(model), "the model file has no tensor blk.1.post_ffw_norm.weight");
  EXPECT_EQ(refusal(with_key("llama.attention.sliding_window", std::uint32_t{512})),
            "the model file sets llama.attention.sliding_window, which is not supported");
}

TEST(ModelRefusal, Tensors) {
  EXPECT_EQ(refusal(without("blk.1.attn_k.weight")), "the model file has no tensor blk.1.attn_k.weight");
  EXPECT_EQ(refusal(without("token_embd.weight")), "the model file has no tensor token_embd.weight");
  EXPECT_EQ(refusal(with_key("llama.block_count", std::uint32_t{3})),
            "the model file has no tensor blk.2.attn_norm.weight");
  EXPECT_EQ(refusal(with_shape("blk.0.attn_v.weight", 8, 32)),
            "tensor blk.0.attn_v.weight has shape [8, 32], not [16, 32]");
  EXPECT_EQ(refusal(with_shape("token_embd.weight", 11, 31)),
            "tensor token_embd.weight has shape [11, 31], not [11, 32]");
  EXPECT_EQ(refusal(with_shape("output_norm.weight", 1, 33)),
            "tensor output_norm.weight has shape [1, 33], not [1, 32]");
  EXPECT_EQ(refusal(with_shape("token_embd.weight", 0, 32)), "tensor token_embd.weight is empty");
}

TEST(ModelRefusal, TensorsThatWouldBeIgnored) {
  EXPECT_EQ(refusal(with_tensor("blk.0.attn_q_norm.weight", TensorType::f32, 8, 32)),
            "the model file has a tensor blk.0.attn_q_norm.weight that this program does not know");
  // The blocks beyond block_count are not forgotten either.
  EXPECT_EQ(refusal(with_key("llama.block_count", std::uint32_t{1})),
            "the model file has a tensor blk.1.attn_norm.weight that this program does not know");
}

TEST(ModelRefusal, TypesThatEdgeqDoesNotMultiply) {
  EXPECT_EQ(refusal(with_tensor("output_norm.weight", TensorType::i32, 32, 128)),
            "gguf: tensor output_norm.weight has type I32, which edgeq does not multiply");
}

TEST(ModelRefusal, Context) {
  const generate::Model model = load(TinyModel());
  try {
    generate::Decoder(model, 65, pool);
    FAIL() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "prompt and answer take 65 tokens, the model's context ends at 64");
  }
}

TEST(ModelRefusal, ActivationsAndInstructionSets) {
  TinyModel tiny;
  tiny.matrices = TensorType::q8_0;
  const generate::Model model = load(tiny);
  EXPECT_STREQ(model.with("int8", "generic").head.layers.front().activation(), "int8");
  try {
    model.with("int16", "sse9");
    FAIL() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("sse9"), std::string::npos) << error.what();
  }
}

std::string text_refusal(const std::function<void(GgufWriter&)>& keys) {
  GgufWriter writer;
  keys(writer);
  const auto bytes = writer.bytes();
  const auto file = value_or_throw(edgeq::gguf::File::parse(bytes));
  try {
    generate::read_text(file);
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(ModelRefusal, Tokenizers) {
  EXPECT_EQ(text_refusal([](GgufWriter& w) { w.add("tokenizer.ggml.model", "bert"); }),
            "the tokenizer is \"bert\"; only byte-level (\"gpt2\") and SentencePiece (\"llama\") byte-pair "
            "encoding are supported");
  EXPECT_EQ(text_refusal([](GgufWriter& w) {
              w.add("tokenizer.ggml.model", "llama");
              w.add_array("tokenizer.ggml.tokens", {"a", "b"});
            }),
            "the model file has no list of floats under tokenizer.ggml.scores");
  EXPECT_EQ(text_refusal([](GgufWriter& w) { w.add("tokenizer.ggml.model", "gpt2"); }),
            "the model file has no list of texts under tokenizer.ggml.tokens");
  EXPECT_EQ(text_refusal([](GgufWriter& w) {
              w.add("tokenizer.ggml.model", "gpt2");
              w.add_array("tokenizer.ggml.tokens", {"a", "b"});
              w.add_array("tokenizer.ggml.merges", {"a"});
              w.add("tokenizer.ggml.eos_token_id", -7);
            }),
            "the model file's key tokenizer.ggml.eos_token_id is not a token id");
}

TEST(ModelRefusal, ASystemMessageWithoutAChatTemplate) {
  GgufWriter writer;
  writer.add("tokenizer.ggml.model", "llama");
  writer.add_array("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "a"});
  writer.add_array("tokenizer.ggml.scores", {0.0f, 0.0f, 0.0f, -1.0f});
  writer.add("tokenizer.ggml.add_space_prefix", false);
  const auto bytes = writer.bytes();
  const auto text = generate::read_text(value_or_throw(edgeq::gguf::File::parse(bytes)));
  EXPECT_EQ(text.encode("", "a", false),
            (std::vector<int>{1, 3}));  // ggml's ids and flags, which the file lacks
  try {
    text.encode("Be brief.", "a", false);
    FAIL() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(
        error.what(),
        "there is no place for a system message: the prompt is continued as it is, for the model has "
        "no chat template");
  }
}

}
