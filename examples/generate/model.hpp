// SPDX-License-Identifier: Apache-2.0
// A model: its hyperparameters, its norms, and its matrices as packed layers.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/any_linear.hpp"
#include "edgeq/import/gguf.hpp"
#include "edgeq/thread_pool.hpp"
#include "generate/config.hpp"

namespace generate {

/// Linears that read the same input. Their outputs stand side by side: matrices of equal type are one layer,
/// so that q, k and v cost one fork and join.
struct Projection {
  std::vector<edgeq::AnyLinear> layers;

  std::size_t inputs() const { return layers.front().k(); }
  std::size_t outputs() const;
};

/// One of the model's transformer blocks.
struct Block {
  std::vector<float> attention_norm;  ///< [width]
  Projection qkv;                     ///< width -> heads, then key heads, then value heads
  Projection attention_output;        ///< heads * head_size -> width
  std::vector<float> ffn_norm;        ///< [width]
  Projection gate_up;                 ///< width -> gate, then up
  Projection down;                    ///< feed_forward -> width

  // Norms that not every architecture has; empty without.
  std::vector<float> query_norm, key_norm;                ///< [head_size], of each head
  std::vector<float> attention_post_norm, ffn_post_norm;  ///< [width], of what is added to the residual
};

/// Immutable. Copies share the packed weights.
struct Model {
  ModelConfig config;
  edgeq::AnyLinear embedding;  ///< used for its rows: row t is the embedding of token t
  std::vector<Block> blocks;
  std::vector<float> output_norm;   ///< [width]
  Projection head;                  ///< width -> logits; shares the embedding's weights if they are tied
  std::vector<float> rope_factors;  ///< [rope_size / 2] by which frequencies are divided, or empty

  std::size_t vocabulary() const { return embedding.n(); }
  /// All projections, in the order in which a token passes them.
  std::vector<const Projection*> projections() const;
  /// The bytes of weights that one decode step reads.
  std::size_t weight_bytes() const;

  /// The same model with activations of another precision in every layer that knows it: float tensors always
  /// run under "f32". `isa` names the only instruction set to use, or is empty. Throws std::runtime_error if
  /// this processor or edgeq has no such kernel.
  Model with(std::string_view activation, std::string_view isa) const;
};

/// Called after each packed layer with the number done and the number in all.
using PackProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Checks the file and packs its matrices; reads each byte of the file once. Throws std::runtime_error with
/// one sentence if the architecture is another, a tensor is missing, has another shape or a type that edgeq
/// does not multiply, or if there is a tensor that this code would ignore.
Model load_model(const edgeq::gguf::File& file, const edgeq::ThreadPool& pool, const PackProgress& progress);

}
