// SPDX-License-Identifier: Apache-2.0
// A model of the Llama or the Gemma 3 architecture computed in double precision: what examples/generate ought
// to approach.
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
  bool is_local = false;     // attends to the last `window` positions only
  double rope_base = 0;

  // Of Gemma 3; empty in Llama.
  Matrix query_norm;              // attn_q_norm, [1, head_width]
  Matrix key_norm;                // attn_k_norm, [1, head_width]
  Matrix attention_post_norm;     // post_attention_norm, [1, width]
  Matrix feed_forward_post_norm;  // post_ffw_norm, [1, width]
};

/// A model's sizes and weights; keys are named without the architecture's name in front. Immutable once
/// built, so threads may share one.
struct Model {
  std::size_t width = 0;       ///< embedding_length
  std::size_t hidden = 0;      ///< feed_forward_length
  std::size_t heads = 0;       ///< attention.head_count
  std::size_t key_heads = 0;   ///< attention.head_count_kv, a divisor of `heads`
  std::size_t head_width = 0;  ///< attention.key_length, else width / heads
  std::size_t rotated = 0;     ///< rope.dimension_count, else head_width: how much of a head RoPE turns; even
  std::size_t context = 0;     ///< context_length: the most tokens of a sequence
  double rope_base = 0;        ///< rope.freq_base
  double embedding_factor = 1;  ///< of the embedding's rows; in Gemma the root of the width
  std::size_t window = 0;       ///< attention.sliding_window, of local layers
  bool rotates_halves = false;  ///< the pairs of RoPE: i and i + rotated / 2 (Gemma), or 2i and 2i + 1
  bool gated_by_gelu = false;   ///< or by silu
  double epsilon = 0;           ///< attention.layer_norm_rms_epsilon
  Matrix embedding;             ///< token_embd, [vocabulary, width]
  Matrix output_norm;           ///< output_norm, [1, width]
  Matrix output;                ///< output, [vocabulary, width]; empty: `embedding` serves as the head too
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
  void rotate(const Layer& layer, std::span<double> head, std::size_t position) const;

  const Model* model_;
  std::size_t length_ = 0;
  std::vector<Rows> keys_;    // for each layer [length, key_heads, head_width], after RoPE
  std::vector<Rows> values_;  // for each layer [length, key_heads, head_width]
};

}
