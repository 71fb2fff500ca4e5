// SPDX-License-Identifier: Apache-2.0
// The families of models that this program knows, and what each adds to the hyperparameters they share.
#pragma once
#include "generate/config.hpp"
#include "generate/metadata.hpp"

namespace generate {

/// One family.
struct Architecture {
  const char* name;  ///< general.architecture, and the prefix of its keys
  /// Fills in what is the family's own, once the shared sizes have been read. Throws std::runtime_error on a
  /// key that changes the arithmetic in a way that is unknown here.
  void (*complete)(const Keys& keys, ModelConfig& config);
};

extern const Architecture llama, gemma3;

/// The divisor of linear scaling, 1 if there is none; another kind is refused.
double read_rope_scale(const Keys& keys);

}
