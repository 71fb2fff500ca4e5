// SPDX-License-Identifier: Apache-2.0
// The angles of rotary position embeddings, computed once for all positions.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "generate/config.hpp"

namespace generate {

/// For each position, what VectorMath::rotate_pairs or rotate_halves takes, whichever the config asks for.
class RotationTable {
 public:
  RotationTable() = default;
  /// For positions below `capacity`. `factors` [rope_size / 2] divide the frequencies of the pairs; may be
  /// empty.
  RotationTable(const ModelConfig& config, const Rotation& rotation, std::span<const float> factors,
                std::size_t capacity);

  const float* cosines(std::size_t position) const { return &cosines_[position * size_]; }
  const float* sines(std::size_t position) const { return &sines_[position * size_]; }

 private:
  std::size_t size_ = 0;
  std::vector<float> cosines_, sines_;  // [capacity, rope_size]
};

}
