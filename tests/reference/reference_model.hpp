// SPDX-License-Identifier: Apache-2.0
// A model of the Llama architecture computed in double precision: what examples/generate ought to approach.
//
// It shares no arithmetic with the library or with the example: only the GGUF container is read with edgeq.
// Weights are the floats that the file's blocks stand for (see dequantize.hpp); everything computed from them
// is double. It is written to be checked against the formulas, and to be fast enough to run.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "edgeq/import/gguf.hpp"

namespace reference {

/// W [rows, columns], row major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;
};

/// The weights of one transformer block; the comments are the tensors' names after "blk.N.".
struct Layer {
  Matrix attention_norm;     // attn_norm, [1, width]
  Matrix query;              // attn_q
  Matrix key;                // attn_k
  Matrix value;              // attn_v
  Matrix attention_output;   // attn_output
  Matrix feed_forward_norm;  // ffn_norm, [1, width]
  Matrix gate;               // ffn_gate
  Matrix up;                 // ffn_up
  Matrix down;               // ffn_down
};

/// A model's sizes and weights. Immutable once built, so threads may share one.
struct Model {
  std::size_t width = 0;       ///< llama.embedding_length
  std::size_t hidden = 0;      ///< llama.feed_forward_length
  std::size_t heads = 0;       ///< llama.attention.head_count
  std::size_t key_heads = 0;   ///< llama.attention.head_count_kv, a divisor of `heads`
  std::size_t head_width = 0;  ///< llama.attention.key_length, else width / heads
  std::size_t rotated = 0;     ///< llama.rope.dimension_count: how much of a head RoPE turns; even
  std::size_t context = 0;     ///< llama.context_length: the most tokens of a sequence
  double rope_base = 0;        ///< llama.rope.freq_base
  double epsilon = 0;          ///< llama.attention.layer_norm_rms_epsilon
  Matrix embedding;            ///< token_embd, [vocabulary, width]
  Matrix output_norm;          ///< output_norm, [1, width]
  Matrix output;               ///< output, [vocabulary, width]; empty: `embedding` serves as the head too
  std::vector<Layer> layers;

  /// Reads and dequantizes all weights. Throws std::runtime_error that names what the file lacks, and every
  /// key or tensor that would change the computation in a way that is not implemented: another architecture,
  /// scaled RoPE, a tensor that no formula here uses (biases, RoPE factors, experts).
  explicit Model(const edgeq::gguf::File& file);
};

/// The keys and values of the tokens so far: one conversation. It refers to its model.
class Sequence {
 public:
  explicit Sequence(const Model& model);

  /// Appends `tokens` and returns the logits [vocabulary] after the last of them. The result does not depend
  /// on how a sequence is cut into calls. Throws std::runtime_error if there is no token, a token is not of
  /// the vocabulary, or the context is full.
  std::vector<double> append(std::span<const int> tokens);

 private:
  using Rows = std::vector<double>;
  void attend(std::size_t layer, const Rows& normalized, Rows& residual);
  void feed_forward(const Layer& layer, const Rows& normalized, Rows& residual) const;
  void rotate(std::span<double> head, std::size_t position) const;

  const Model* model_;
  std::size_t length_ = 0;
  std::vector<Rows> keys_;    // for each layer [length, key_heads, head_width], after RoPE
  std::vector<Rows> values_;  // for each layer [length, key_heads, head_width]
};

}
