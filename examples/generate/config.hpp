// SPDX-License-Identifier: Apache-2.0
// The hyperparameters of a model, as a GGUF file gives them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "edgeq/import/gguf.hpp"

namespace generate {

/// Which elements of a head turn together: 2i and 2i + 1, or i and i + half of those that turn.
enum class RotationPairs : std::uint8_t { neighbours, halves };

/// The function of the gate in the feed-forward part: x / (1 + exp(-x)), or its cousin with tanh.
enum class Gate : std::uint8_t { silu, gelu };

/// How far pair i of a head turns: by position * base^(-2i / rope_size) / scale.
struct Rotation {
  double base = 10000;  ///< rope.freq_base
  double scale = 1;     ///< rope.scaling.factor of linear scaling
};

/// Each field names its key, which begins with the architecture's name and a point, or says that the
/// architecture decides.
struct ModelConfig {
  std::size_t blocks = 0;        ///< block_count
  std::size_t context = 0;       ///< context_length
  std::size_t width = 0;         ///< embedding_length
  std::size_t feed_forward = 0;  ///< feed_forward_length
  std::size_t heads = 0;         ///< attention.head_count
  std::size_t kv_heads = 0;      ///< attention.head_count_kv; a divisor of heads
  std::size_t head_size = 0;     ///< attention.key_length, or width / heads
  std::size_t rope_size = 0;     ///< rope.dimension_count: the leading elements of a head that turn; even
  float rms_epsilon = 0;         ///< attention.layer_norm_rms_epsilon
  float embedding_scale = 1;     ///< of what enters the first block; the architecture's
  float attention_scale = 0;     ///< of the scores; 1 / sqrt(head_size), unless the architecture differs

  RotationPairs rotation_pairs = RotationPairs::neighbours;  ///< the architecture's
  Gate gate = Gate::silu;                                    ///< the architecture's
  bool head_norms = false;  ///< queries and keys are normalized head by head; the architecture's
  bool post_norms = false;  ///< so are the outputs of attention and feed-forward; the architecture's

  Rotation rotation;             ///< of the blocks that attend to all positions
  Rotation local_rotation;       ///< of the local blocks
  std::size_t window = 0;        ///< attention.sliding_window: positions that a local block attends to
  std::size_t global_every = 1;  ///< each block is local but every this many-th

  bool is_local(std::size_t block) const { return (block + 1) % global_every != 0; }
  std::size_t query_width() const { return heads * head_size; }
  std::size_t kv_width() const { return kv_heads * head_size; }
  std::size_t qkv_width() const { return query_width() + 2 * kv_width(); }
};

/// Throws std::runtime_error with one sentence on an architecture that is not known, on numbers that
/// contradict each other, and on keys that change the arithmetic in a way that is unknown here.
ModelConfig read_config(const edgeq::gguf::File& file);

}
