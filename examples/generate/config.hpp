// SPDX-License-Identifier: Apache-2.0
// The hyperparameters of a model of architecture "llama", as a GGUF file gives them.
#pragma once
#include <cstddef>

#include "edgeq/import/gguf.hpp"

namespace generate {

/// Each field names its key, llama.* unless it says otherwise.
struct ModelConfig {
  std::size_t blocks = 0;        ///< block_count
  std::size_t context = 0;       ///< context_length
  std::size_t width = 0;         ///< embedding_length
  std::size_t feed_forward = 0;  ///< feed_forward_length
  std::size_t heads = 0;         ///< attention.head_count
  std::size_t kv_heads = 0;      ///< attention.head_count_kv; a divisor of heads
  std::size_t head_size = 0;     ///< attention.key_length, or width / heads
  std::size_t rope_size = 0;     ///< rope.dimension_count: the leading elements of a head that turn; even
  double rope_base = 10000;      ///< rope.freq_base
  double rope_scale = 1;         ///< rope.scaling.factor of linear scaling: positions are divided by it
  float rms_epsilon = 0;         ///< attention.layer_norm_rms_epsilon

  std::size_t query_width() const { return heads * head_size; }
  std::size_t kv_width() const { return kv_heads * head_size; }
  std::size_t qkv_width() const { return query_width() + 2 * kv_width(); }
};

/// Throws std::runtime_error with one sentence on another architecture, on numbers that contradict each
/// other, and on keys that change the arithmetic in a way that is not implemented here.
ModelConfig read_config(const edgeq::gguf::File& file);

}
