// SPDX-License-Identifier: Apache-2.0
// Reads and checks hyperparameters.
#include "generate/config.hpp"

#include <stdexcept>

#include "generate/metadata.hpp"

namespace generate {
namespace {

using edgeq::gguf::File;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

// Keys that change what the model computes, each with the value at which it changes nothing. All are 0 or 1.
void refuse_other_arithmetic(const File& file) {
  struct Neutral {
    const char* key;
    double value;
  };
  constexpr Neutral neutral[] = {
      {"llama.expert_count", 0},     {"llama.attention.sliding_window", 0}, {"llama.logit_scale", 1},
      {"llama.embedding_scale", 1},  {"llama.residual_scale", 1},           {"llama.attention.scale", 0},
      {"llama.attention.causal", 1}, {"llama.use_parallel_residual", 0},
  };
  for (const Neutral& n : neutral) {
    const edgeq::gguf::Value* value = file.find(n.key);
    if (value == nullptr) continue;
    const auto integer = value->as_u64();
    const auto number = value->as_f64();
    const auto flag = value->as_bool();
    const bool changes_nothing = integer  ? static_cast<double>(*integer) == n.value
                                 : number ? *number == n.value
                                 : flag   ? *flag == (n.value != 0)
                                          : false;
    if (!changes_nothing) refuse("the model file sets " + std::string(n.key) + ", which is not supported");
  }
}

double read_rope_scale(const File& file) {
  const std::string type = find_text(file, "llama.rope.scaling.type").value_or("none");
  if (type == "none") return 1;
  if (type != "linear") refuse("the rope scaling \"" + type + "\" is not supported; \"linear\" is");
  return need_positive(file, "llama.rope.scaling.factor");
}

}

ModelConfig read_config(const File& file) {
  const std::string architecture = find_text(file, "general.architecture").value_or("");
  if (architecture != "llama")
    refuse("the model's architecture is \"" + architecture + "\"; only \"llama\" is supported");
  if (file.split_count() != 1)
    refuse("the file is one part of a model that is split into " + std::to_string(file.split_count()) +
           "; merge the parts first");

  ModelConfig c;
  c.blocks = need_size(file, "llama.block_count");
  c.context = need_size(file, "llama.context_length");
  c.width = need_size(file, "llama.embedding_length");
  c.feed_forward = need_size(file, "llama.feed_forward_length");
  c.heads = need_size(file, "llama.attention.head_count");
  c.kv_heads = find_size(file, "llama.attention.head_count_kv").value_or(c.heads);
  if (c.heads % c.kv_heads != 0)
    refuse("the model has " + std::to_string(c.heads) + " heads, which " + std::to_string(c.kv_heads) +
           " key-value heads cannot share evenly");

  const auto key_length = find_size(file, "llama.attention.key_length");
  if (!key_length && c.width % c.heads != 0)
    refuse("the model's width, " + std::to_string(c.width) + ", is not a multiple of its " +
           std::to_string(c.heads) + " heads");
  c.head_size = key_length.value_or(c.width / c.heads);
  const std::size_t value_length = find_size(file, "llama.attention.value_length").value_or(c.head_size);
  if (value_length != c.head_size)
    refuse("the values of a head have " + std::to_string(value_length) + " elements, its keys " +
           std::to_string(c.head_size) + "; they must be equal");

  c.rope_size = find_size(file, "llama.rope.dimension_count").value_or(c.head_size);
  if (c.rope_size % 2 != 0 || c.rope_size > c.head_size)
    refuse("llama.rope.dimension_count is " + std::to_string(c.rope_size) +
           "; it must be even and at most the head's " + std::to_string(c.head_size));
  c.rope_base = find_positive(file, "llama.rope.freq_base").value_or(c.rope_base);
  c.rope_scale = read_rope_scale(file);
  c.rms_epsilon = static_cast<float>(need_positive(file, "llama.attention.layer_norm_rms_epsilon"));
  refuse_other_arithmetic(file);
  return c;
}

}
