// SPDX-License-Identifier: Apache-2.0
// Linears in the logical form of PyTorch's int4 kernels (tinygemm): 4-bit codes with a float zero in units of
// the weights.
#pragma once
#include "edgeq/import/coded_source.hpp"
#include "edgeq/kernel/float_control.hpp"

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE::tinygemm::detail {

// The z in 0..15 for which (code - 8) * scale + zero = (code - z) * scale for every code, or -1. The products
// of a float and such an integer are exact in double. An infinite scale has none but 8: infinity - infinity.
inline int integer_zero(float scale, float zero) noexcept {
  if (zero == 0.0f || scale != scale) return 8;
  for (int z = 0; z < 16; ++z)
    if (double{zero} == double{scale} * (8 - z)) return scale - scale == 0.0f ? z : -1;
  return -1;
}

}
EDGEQ_PRECISE_END

namespace edgeq::inline EDGEQ_BASELINE::tinygemm {

/// The tensors of one linear W [N, K] with G = ceil(K / group size) groups: W[n, k] = (code - 8) * scale +
/// zero. The codes are what `_convert_weight_to_int4pack` takes, one code in each element; what it returns
/// depends on the processor that packed it and is not read here.
struct Tensors {
  CheckpointTensor codes;             ///< I32 or U8 [N, K], 0..15
  CheckpointTensor scales_and_zeros;  ///< F16, BF16 or F32 [G, N, 2]: scale, zero
};

struct Parameters {
  std::int64_t group_size = 128;  ///< -1: one group
};

/// Checks the tensors of one linear. Where every zero is scale * (8 - z) for an integer z, as converted from
/// formats with integer zeros, the weights have the zeros z (y is then the same bits as theirs); else they
/// keep float zeros.
///
/// invalid_file: codes beyond 15, shapes that contradict each other.
inline Result<CodedWeights> read_weights(const Tensors& tensors, const Parameters& parameters) {
  TensorChecks checks("tinygemm");
  const auto& [codes, scales_and_zeros] = tensors;
  if (Status s = checks.type_and_rank(codes, {ElementType::i32, ElementType::u8}, 2); !s) return s.error();
  CodedWeights weights;
  const std::size_t n = weights.n = codes.shape[0], k = weights.k = codes.shape[1];
  const auto group = group_size_of(checks, codes, parameters.group_size, k);
  if (!group) return group.error();
  weights.group = *group;
  const std::size_t groups = weights.groups();
  checks.set_sizes("K = " + std::to_string(k) + ", N = " + std::to_string(n) + " in groups of " +
                   std::to_string(*group));
  if (Status s = checks.type_and_shape(scales_and_zeros, stored_floats, {{groups, n, 2}}); !s)
    return s.error();
  const bool wide = codes.type == ElementType::i32;
  for (std::size_t i = 0; i < n * k; ++i) {
    const std::uint32_t code = wide ? codes.at<std::uint32_t>(i) : codes.at<std::uint8_t>(i);
    if (code > 15)
      return checks.error(ErrorCode::invalid_file, codes.name,
                          "has code " + std::to_string(code) + " at n = " + std::to_string(i / k) +
                              ", k = " + std::to_string(i % k) + "; codes are 0..15");
  }

  weights.codes = {
      .data = codes.data, .bits = 4, .word_bits = wide ? 32 : 8, .fields_per_word = 1, .line_step = k};
  const FloatType type = stored_float_type(scales_and_zeros.type);
  weights.scales = {type, scales_and_zeros.data, 2, 2 * n};
  const FloatTable pairs{type, scales_and_zeros.data, 2 * n, 1};  // [G, 2 N]
  std::vector<std::uint8_t> zeros(n * groups);
  weights.minima.resize(n * groups);
  bool integers = true;
  const FloatControl control;  // subnormal zeros are not 0, whatever the host has set
  for (std::size_t i = 0; i < n * groups; ++i) {
    const std::size_t row = i / groups, g = i % groups;
    weights.minima[i] = pairs.value(g, 2 * row + 1);
    const int z = detail::integer_zero(pairs.value(g, 2 * row), weights.minima[i]);
    integers = integers && z >= 0;
    zeros[i] = static_cast<std::uint8_t>(z);
  }
  if (integers) {
    weights.minima.clear();
    set_zeros(weights, std::move(zeros));
  }
  return weights;
}

/// Calls f(source) with the linear as the format that holds it exactly: see edgeq::visit_weights. Returns f's
/// Result, or why read_weights refused.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f) {
  return edgeq::visit_weights(read_weights(tensors, parameters), f);
}

}
