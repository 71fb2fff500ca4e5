// SPDX-License-Identifier: Apache-2.0
// Linears of AWQ checkpoints of version "gemm", as AutoAWQ writes them: 4 bits, columns interleaved in words.
#pragma once
#include <array>

#include "edgeq/import/coded_source.hpp"

namespace edgeq::inline EDGEQ_BASELINE::awq {

/// The tensors of one linear W [N, K] with G = K / group size groups. A word holds 8 neighbouring n of one k,
/// in the order 0 2 4 6 1 3 5 7 from its low nibble on. W[n, k] = scale * (code - zero); zeros are stored as
/// they are.
struct Tensors {
  CheckpointTensor qweight;  ///< I32 [K, N / 8]
  CheckpointTensor qzeros;   ///< I32 [G, N / 8]
  CheckpointTensor scales;   ///< F16, BF16 or F32 [G, N]
};

/// What the checkpoint's quantization config says of the linear.
struct Parameters {
  int bits = 4;
  std::int64_t group_size = 128;  ///< -1: one group
  bool zero_point = true;
  std::string_view version = "gemm";  ///< in lower or upper case; "gemv", "marlin", ... are other layouts
};

/// The nibble in which column j of every 8 stands.
inline constexpr std::array<std::uint8_t, 8> nibble_of_column{0, 4, 1, 5, 2, 6, 3, 7};

/// Checks the tensors of one linear and reads the zeros.
///
/// unsupported: other versions, other bits than 4, zero_point = false, which "gemm" does not have.
/// invalid_file: a K that is not a multiple of the group, shapes that contradict each other.
inline Result<CodedWeights> read_weights(const Tensors& tensors, const Parameters& parameters) {
  TensorChecks checks("awq");
  const auto& [qweight, qzeros, scales] = tensors;
  if (parameters.version != "gemm" && parameters.version != "GEMM")
    return checks.error(ErrorCode::unsupported, qweight.name,
                        "is of version \"" + std::string(parameters.version) + "\", which is another layout");
  if (parameters.bits != 4)
    return checks.error(ErrorCode::unsupported, qweight.name,
                        "is said to have " + std::to_string(parameters.bits) + " bits; awq has 4");
  if (!parameters.zero_point)
    return checks.error(ErrorCode::unsupported, qweight.name,
                        "is said to have no zero points (zero_point); version gemm always has");
  if (Status status = checks.type_and_rank(qweight, {ElementType::i32}, 2); !status) return status.error();

  CodedWeights weights;
  const std::size_t k = weights.k = qweight.shape[0], words = qweight.shape[1], n = weights.n = words * 8;
  const auto group = group_size_of(checks, qweight, parameters.group_size, k);
  if (!group) return group.error();
  if (words > SIZE_MAX / 8 || k % *group != 0)
    return checks.error(
        ErrorCode::invalid_file, qweight.name,
        "is " + describe(qweight) + "; K must be a multiple of the group, " + std::to_string(*group));
  weights.group = *group;
  const std::size_t groups = weights.groups();
  checks.set_sizes("K = " + std::to_string(k) + ", N = " + std::to_string(n) + " in groups of " +
                   std::to_string(*group));
  if (Status s = checks.type_and_shape(qzeros, {ElementType::i32}, {{groups, words}}); !s) return s.error();
  if (Status s = checks.type_and_shape(scales, stored_floats, {{groups, n}}); !s) return s.error();

  weights.codes = {.data = qweight.data,
                   .bits = 4,
                   .along = PackedAlong::rows,
                   .word_step = 1,
                   .line_step = words,
                   .interleave = nibble_of_column};
  weights.scales = {stored_float_type(scales.type), scales.data, 1, n};
  PackedFields fields = weights.codes;
  fields.data = qzeros.data;
  set_zeros(weights, fields.get_all(n, groups));
  return weights;
}

/// Calls f(source) with the linear as the format that holds it exactly: see edgeq::visit_weights. Returns f's
/// Result, or why read_weights refused.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f) {
  return edgeq::visit_weights(read_weights(tensors, parameters), f);
}

}
