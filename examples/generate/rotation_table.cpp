// SPDX-License-Identifier: Apache-2.0
// Computes the angles in double.
#include "generate/rotation_table.hpp"

#include <cmath>

namespace generate {

RotationTable::RotationTable(const ModelConfig& config, const Rotation& rotation,
                             std::span<const float> factors, std::size_t capacity)
    : size_(config.rope_size), cosines_(capacity * size_), sines_(capacity * size_) {
  const std::size_t pairs = size_ / 2;
  const bool neighbours = config.rotation_pairs == RotationPairs::neighbours;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t first = neighbours ? 2 * i : i, second = neighbours ? 2 * i + 1 : i + pairs;
    const double factor = factors.empty() ? 1.0 : factors[i];
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(size_);
    const double frequency = std::pow(rotation.base, exponent) / (factor * rotation.scale);
    for (std::size_t position = 0; position < capacity; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      float* cosines = &cosines_[position * size_];
      float* sines = &sines_[position * size_];
      cosines[first] = cosines[second] = static_cast<float>(std::cos(angle));
      sines[second] = static_cast<float>(std::sin(angle));
      sines[first] = -sines[second];
    }
  }
}

}
