// SPDX-License-Identifier: Apache-2.0
// The inputs of linears, as somebody recorded them.
#pragma once
#include <string>

#include "edgeq/import/safetensors_checkpoint.hpp"
#include "edgeq/thread_pool.hpp"
#include "hessian.hpp"

namespace tool {

/// A safetensors file with a tensor for each module, named like it or like it and ".input": F32, F16 or BF16,
/// the last extent K, all others rows.
class Calibration {
 public:
  static edgeq::Result<Calibration> open(const std::string& path);

  /// The Hessian of a module's inputs, of K columns. Refuses a module without a tensor, or with one of
  /// another K or type.
  edgeq::Result<Hessian> hessian_of(const std::string& module, std::size_t k,
                                    const edgeq::ThreadPool& threads) const;

 private:
  explicit Calibration(edgeq::safetensors::Checkpoint file) : file_(std::move(file)) {}

  edgeq::safetensors::Checkpoint file_;
};

}
