// SPDX-License-Identifier: Apache-2.0
// Reads and checks the hyperparameters that all architectures share.
#include "generate/config.hpp"

#include <cmath>
#include <stdexcept>

#include "generate/architecture.hpp"
#include "generate/metadata.hpp"

namespace generate {
namespace {

using edgeq::gguf::File;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

const Architecture& read_architecture(const File& file) {
  const std::string name = find_text(file, "general.architecture").value_or("");
  for (const Architecture* known : {&llama, &gemma3})
    if (name == known->name) return *known;
  refuse("the model's architecture is \"" + name + "\"; only \"llama\" and \"gemma3\" are supported");
}

// Keys that change what the model computes, each with the value at which it changes nothing.
void refuse_other_arithmetic(const Keys& keys) {
  keys.expect("expert_count", 0);
  keys.expect("logit_scale", 1);
  keys.expect("embedding_scale", 1);
  keys.expect("residual_scale", 1);
  keys.expect("attention.scale", 0);
  keys.expect("attention.causal", 1);
  keys.expect("use_parallel_residual", 0);
  keys.expect("attn_logit_softcapping", 0);
  keys.expect("final_logit_softcapping", 0);
}

}

double read_rope_scale(const Keys& keys) {
  const std::string type = keys.find_text("rope.scaling.type").value_or("none");
  if (type == "none") return 1;
  if (type != "linear") refuse("the rope scaling \"" + type + "\" is not supported; \"linear\" is");
  return keys.need_positive("rope.scaling.factor");
}

ModelConfig read_config(const File& file) {
  const Architecture& architecture = read_architecture(file);
  const Keys keys(file, architecture.name);
  if (file.split_count() != 1)
    refuse("the file is one part of a model that is split into " + std::to_string(file.split_count()) +
           "; merge the parts first");

  ModelConfig c;
  c.blocks = keys.need_size("block_count");
  c.context = keys.need_size("context_length");
  c.width = keys.need_size("embedding_length");
  c.feed_forward = keys.need_size("feed_forward_length");
  c.heads = keys.need_size("attention.head_count");
  c.kv_heads = keys.find_size("attention.head_count_kv").value_or(c.heads);
  if (c.heads % c.kv_heads != 0)
    refuse("the model has " + std::to_string(c.heads) + " heads, which " + std::to_string(c.kv_heads) +
           " key-value heads cannot share evenly");

  const auto key_length = keys.find_size("attention.key_length");
  if (!key_length && c.width % c.heads != 0)
    refuse("the model's width, " + std::to_string(c.width) + ", is not a multiple of its " +
           std::to_string(c.heads) + " heads");
  c.head_size = key_length.value_or(c.width / c.heads);
  const std::size_t value_length = keys.find_size("attention.value_length").value_or(c.head_size);
  if (value_length != c.head_size)
    refuse("the values of a head have " + std::to_string(value_length) + " elements, its keys " +
           std::to_string(c.head_size) + "; they must be equal");
  c.attention_scale = 1.0f / std::sqrt(static_cast<float>(c.head_size));

  c.rope_size = keys.find_size("rope.dimension_count").value_or(c.head_size);
  if (c.rope_size % 2 != 0 || c.rope_size > c.head_size)
    refuse(keys.name("rope.dimension_count") + " is " + std::to_string(c.rope_size) +
           "; it must be even and at most the head's " + std::to_string(c.head_size));
  c.rotation.base = keys.find_positive("rope.freq_base").value_or(c.rotation.base);
  c.rms_epsilon = static_cast<float>(keys.need_positive("attention.layer_norm_rms_epsilon"));
  refuse_other_arithmetic(keys);
  architecture.complete(keys, c);
  return c;
}

}
