// SPDX-License-Identifier: Apache-2.0
// What a decoder computes between its linears: norms, rotations, attention and gates, as loops over vectors.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace generate {

/// Floats that the loops take at a time. Sums are kept in this many lanes, whatever the processor, and added
/// up in one fixed order: every instruction set computes the same bits.
inline constexpr std::size_t vector_lanes = 16;
/// Positions that attention takes at a time: room for keys and scores is a multiple of this.
inline constexpr std::size_t position_step = 2 * vector_lanes;
/// Rows of `AttentionTask::values` are padded to a multiple of this.
inline constexpr std::size_t value_step = 64;

/// One query of one head against the cache of its key-value head.
struct AttentionTask {
  const float* query;        ///< [head_size]
  const float* keys;         ///< [room / 16][head_size][16]: sixteen positions side by side
  const float* values;       ///< [positions][value_stride], the padding of a row finite
  std::size_t positions;     ///< more than `skipped`; keys beyond may hold anything
  std::size_t skipped;       ///< positions at the beginning that do not count
  std::size_t head_size;     ///< of query, keys, values and result
  std::size_t value_stride;  ///< head_size rounded up to value_step
  float scale;               ///< of the scores
  float* scores;             ///< [room] scratch; room is `positions` rounded up to position_step
  float* result;             ///< [head_size]: the mean of the values, weighted by softmax(scores)
};

/// The loops, compiled for one instruction set. Outputs may be the inputs, but not overlap them otherwise.
struct VectorMath {
  std::string_view name;

  /// y = exp(x) for x in [-87, 88], within 2 ulp; smaller x count as -87, greater ones as 88. NaN stays NaN.
  void (*exponential)(const float* x, std::size_t size, float* y);
  /// y = weight * x / sqrt(mean(x^2) + epsilon).
  void (*rms_norm)(const float* x, const float* weight, std::size_t size, float epsilon, float* y);
  /// Turns each pair (x[2i], x[2i+1]) by an angle: x[j] = x[j] * cosines[j] + x[j ^ 1] * sines[j], where
  /// sines[2i] is minus the sine and sines[2i+1] the sine. `size` is even.
  void (*rotate_pairs)(float* x, const float* cosines, const float* sines, std::size_t size);
  /// The same for the pairs (x[i], x[i + size / 2]).
  void (*rotate_halves)(float* x, const float* cosines, const float* sines, std::size_t size);
  /// y = gate / (1 + exp(-gate)) * up.
  void (*swiglu)(const float* gate, const float* up, std::size_t size, float* y);
  /// y = gate / 2 * (1 + tanh(sqrt(2 / pi) * (gate + 0.044715 gate^3))) * up.
  void (*geglu)(const float* gate, const float* up, std::size_t size, float* y);
  /// y += x.
  void (*add)(float* y, const float* x, std::size_t size);
  /// Scaled dot-product attention.
  void (*attend)(const AttentionTask& task);
};

/// The widest loops that this processor runs.
const VectorMath& vector_math();

/// All loops that this processor runs, widest first.
std::span<const VectorMath* const> runnable_vector_math();

}
