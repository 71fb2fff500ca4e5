// SPDX-License-Identifier: Apache-2.0
// Loads a model, and changes the activations and kernels under which its layers run.
#include "generate/model.hpp"

#include <stdexcept>

#include "generate/tensor_reader.hpp"

namespace generate {
namespace {

using edgeq::AnyLinear;

// One layer of `linear` under the wanted activation, on the wanted instruction set.
AnyLinear adapted(const AnyLinear& linear, std::string_view activation, std::string_view isa) {
  auto wanted = linear.with(activation);
  AnyLinear layer = wanted ? std::move(*wanted) : value_or_throw(linear.with("f32"));  // float weights
  if (isa.empty()) return layer;
  auto forced = layer.only(isa);
  if (forced) return std::move(*forced);
  for (const auto& rejected : layer.plan(1).rejected)
    if (rejected.isa == isa)
      throw std::runtime_error("the kernels of " + std::string(isa) + " cannot run: " + rejected.reason);
  throw std::runtime_error(forced.error().message);
}

Block read_block(TensorReader& reader, const ModelConfig& c, std::size_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const auto named = [&](const char* name) { return prefix + name; };
  const auto norm = [&](const char* name, std::size_t size, bool wanted = true) {
    return wanted ? reader.vector(prefix + name + ".weight", size) : std::vector<float>();
  };
  return {.attention_norm = norm("attn_norm", c.width),
          .qkv = reader.projection({{named("attn_q"), c.query_width()},
                                    {named("attn_k"), c.kv_width()},
                                    {named("attn_v"), c.kv_width()}},
                                   c.width),
          .attention_output = reader.projection({{named("attn_output"), c.width}}, c.query_width()),
          .ffn_norm = norm("ffn_norm", c.width),
          .gate_up = reader.projection(
              {{named("ffn_gate"), c.feed_forward}, {named("ffn_up"), c.feed_forward}}, c.width),
          .down = reader.projection({{named("ffn_down"), c.width}}, c.feed_forward),
          .query_norm = norm("attn_q_norm", c.head_size, c.head_norms),
          .key_norm = norm("attn_k_norm", c.head_size, c.head_norms),
          .attention_post_norm = norm("post_attention_norm", c.width, c.post_norms),
          .ffn_post_norm = norm("post_ffw_norm", c.width, c.post_norms)};
}

}

std::size_t Projection::outputs() const {
  std::size_t total = 0;
  for (const AnyLinear& layer : layers) total += layer.n();
  return total;
}

std::vector<const Projection*> Model::projections() const {
  std::vector<const Projection*> all;
  for (const Block& block : blocks)
    all.insert(all.end(), {&block.qkv, &block.attention_output, &block.gate_up, &block.down});
  all.push_back(&head);
  return all;
}

std::size_t Model::weight_bytes() const {
  std::size_t bytes = 0;
  for (const Projection* projection : projections())
    for (const AnyLinear& layer : projection->layers) bytes += layer.plan(1).weight_bytes;
  return bytes;
}

Model Model::with(std::string_view activation, std::string_view isa) const {
  Model other = *this;
  const auto adapt = [&](Projection& projection) {
    for (AnyLinear& layer : projection.layers) layer = adapted(layer, activation, isa);
  };
  for (Block& block : other.blocks) {
    adapt(block.qkv);
    adapt(block.attention_output);
    adapt(block.gate_up);
    adapt(block.down);
  }
  adapt(other.head);
  return other;
}

Model load_model(const edgeq::gguf::File& file, const edgeq::ThreadPool& pool, const PackProgress& progress) {
  const ModelConfig c = read_config(file);
  TensorReader reader(file, pool, 4 * c.blocks + 1, progress);

  std::vector<float> output_norm = reader.vector("output_norm.weight", c.width);
  std::vector<float> rope_factors;
  if (reader.has("rope_freqs.weight")) rope_factors = reader.vector("rope_freqs.weight", c.rope_size / 2);

  std::vector<Block> blocks;
  blocks.reserve(c.blocks);
  for (std::size_t i = 0; i < c.blocks; ++i) blocks.push_back(read_block(reader, c, i));

  const std::size_t vocabulary = reader.rows("token_embd.weight");
  Projection embedding = reader.projection({{"token_embd", vocabulary}}, c.width);
  Projection head = embedding;
  if (reader.has("output.weight")) head = reader.projection({{"output", vocabulary}}, c.width);
  reader.refuse_unread();
  return {c,
          embedding.layers.front(),
          std::move(blocks),
          std::move(output_norm),
          std::move(head),
          std::move(rope_factors)};
}

}
