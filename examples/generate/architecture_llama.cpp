// SPDX-License-Identifier: Apache-2.0
// "llama": Llama, Mistral, SmolLM and their kin.
#include "generate/architecture.hpp"

namespace generate {
namespace {

void complete(const Keys& keys, ModelConfig& config) {
  keys.expect("attention.sliding_window", 0);
  config.rotation.scale = read_rope_scale(keys);
}

}

const Architecture llama{"llama", complete};

}
