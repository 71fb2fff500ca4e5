// SPDX-License-Identifier: Apache-2.0
// Reads a model's sizes and weights.
#include "reference/reference_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reference/dequantize.hpp"

namespace reference {
namespace {

using edgeq::gguf::File;

const edgeq::gguf::Value& key(const File& file, const std::string& name) {
  const auto* value = file.find(name);
  if (value == nullptr) throw std::runtime_error("the model has no key " + name);
  return *value;
}

std::size_t size_key(const File& file, const std::string& name) {
  const auto value = key(file, name).as_u64();
  if (!value || *value == 0) throw std::runtime_error("key " + name + " is not a positive integer");
  return static_cast<std::size_t>(*value);
}

double float_key(const File& file, const std::string& name) {
  const auto value = key(file, name).as_f64();
  if (!value) throw std::runtime_error("key " + name + " is not a float");
  return *value;
}

// Takes tensors by name and shape, and counts them.
class TensorReader {
 public:
  explicit TensorReader(const File& file) : file_(&file) {}

  bool has(const std::string& name) const { return file_->tensor(name) != nullptr; }

  Matrix take(const std::string& name, std::size_t rows, std::size_t columns) {
    const auto* tensor = file_->tensor(name);
    if (tensor == nullptr) throw std::runtime_error("the model has no tensor " + name);
    if (tensor->rows() != rows || tensor->columns() != columns) {
      throw std::runtime_error("tensor " + name + " is not " + std::to_string(rows) + " x " +
                               std::to_string(columns));
    }
    taken_.push_back(tensor->name);
    return {rows, columns, dequantize(*tensor)};
  }

  void expect_all_taken() {
    std::sort(taken_.begin(), taken_.end());
    for (const auto& tensor : file_->tensors()) {
      if (!std::binary_search(taken_.begin(), taken_.end(), tensor.name))
        throw std::runtime_error("the reference does not know what to do with tensor " +
                                 std::string(tensor.name));
    }
  }

 private:
  const File* file_;
  std::vector<std::string_view> taken_;
};

}

Model::Model(const File& file) {
  const std::string architecture(key(file, "general.architecture").as_string().value_or(""));
  const bool gemma = architecture == "gemma3";
  if (!gemma && architecture != "llama")
    throw std::runtime_error("the reference does not compute models of the architecture " + architecture);
  const auto name = [&](const char* last) { return architecture + "." + last; };
  const auto has_key = [&](const char* last) { return file.find(name(last)) != nullptr; };
  for (const auto& entry : file.metadata()) {
    if (entry.key.starts_with(name("rope.scaling.")) || entry.key.ends_with("softcapping") ||
        entry.key == name("attention.sliding_window_pattern") || entry.key == name("rope.freq_base_swa") ||
        (!gemma && entry.key == name("attention.sliding_window")))
      throw std::runtime_error("the reference does not implement " + std::string(entry.key));
  }
  width = size_key(file, name("embedding_length"));
  hidden = size_key(file, name("feed_forward_length"));
  heads = size_key(file, name("attention.head_count"));
  key_heads = size_key(file, name("attention.head_count_kv"));
  head_width = has_key("attention.key_length") ? size_key(file, name("attention.key_length")) : width / heads;
  rotated = has_key("rope.dimension_count") ? size_key(file, name("rope.dimension_count")) : head_width;
  context = size_key(file, name("context_length"));
  rope_base = float_key(file, name("rope.freq_base"));
  epsilon = float_key(file, name("attention.layer_norm_rms_epsilon"));
  if (heads % key_heads != 0 || rotated % 2 != 0 || rotated > head_width)
    throw std::runtime_error("the model's numbers of heads or rotated dimensions do not fit together");
  const std::size_t blocks = size_key(file, name("block_count"));
  if (gemma) {
    if (blocks == 62) throw std::runtime_error("the reference does not scale the scores of Gemma 3 27B");
    embedding_factor = std::sqrt(static_cast<float>(width));  // a float by definition
    window = size_key(file, name("attention.sliding_window"));
    rotates_halves = gated_by_gelu = true;
  }

  TensorReader reader(file);
  const auto* vocabulary = file.tensor("token_embd.weight");
  embedding = reader.take("token_embd.weight", vocabulary == nullptr ? 0 : vocabulary->rows(), width);
  output_norm = reader.take("output_norm.weight", 1, width);
  if (reader.has("output.weight")) output = reader.take("output.weight", embedding.rows, width);
  const std::size_t query_width = heads * head_width;
  const std::size_t key_width = key_heads * head_width;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    Layer& layer = layers.emplace_back();
    // In Gemma 3 every sixth layer sees all positions, with the file's RoPE base; the others have a window
    // and another base.
    layer.is_local = gemma && i % 6 != 5;
    layer.rope_base = layer.is_local ? 10000 : rope_base;
    layer.attention_norm = reader.take(prefix + "attn_norm.weight", 1, width);
    layer.query = reader.take(prefix + "attn_q.weight", query_width, width);
    layer.key = reader.take(prefix + "attn_k.weight", key_width, width);
    layer.value = reader.take(prefix + "attn_v.weight", key_width, width);
    layer.attention_output = reader.take(prefix + "attn_output.weight", width, query_width);
    layer.feed_forward_norm = reader.take(prefix + "ffn_norm.weight", 1, width);
    layer.gate = reader.take(prefix + "ffn_gate.weight", hidden, width);
    layer.up = reader.take(prefix + "ffn_up.weight", hidden, width);
    layer.down = reader.take(prefix + "ffn_down.weight", width, hidden);
    if (!gemma) continue;
    layer.query_norm = reader.take(prefix + "attn_q_norm.weight", 1, head_width);
    layer.key_norm = reader.take(prefix + "attn_k_norm.weight", 1, head_width);
    layer.attention_post_norm = reader.take(prefix + "post_attention_norm.weight", 1, width);
    layer.feed_forward_post_norm = reader.take(prefix + "post_ffw_norm.weight", 1, width);
  }
  reader.expect_all_taken();
}

}
