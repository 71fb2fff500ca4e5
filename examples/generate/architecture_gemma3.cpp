// SPDX-License-Identifier: Apache-2.0
// "gemma3": the text part of Gemma 3.
#include <cmath>

#include "generate/architecture.hpp"

namespace generate {
namespace {

void complete(const Keys& keys, ModelConfig& config) {
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  // The 27B model, which its depth tells from the others, has heads of another size than its scores are for.
  if (config.blocks == 62)
    config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.width / config.heads));
  config.rotation_pairs = RotationPairs::halves;
  config.gate = Gate::gelu;
  config.head_norms = true;
  config.post_norms = true;
  config.rotation.scale = read_rope_scale(keys);
  config.local_rotation.base = keys.find_positive("rope.freq_base_swa").value_or(config.local_rotation.base);
  // Files of the 270M and 1B models name the window, but not that every sixth block does without.
  if (const auto window = keys.find_size("attention.sliding_window")) {
    config.window = *window;
    config.global_every = keys.find_size("attention.sliding_window_pattern").value_or(6);
  }
}

}

const Architecture gemma3{"gemma3", complete};

}
