// SPDX-License-Identifier: Apache-2.0
// Weights of ONNX nodes MatMulNBits (domain com.microsoft): 2 to 8 bits, integer or float zero points.
#pragma once
#include "edgeq/import/coded_source.hpp"
#include "edgeq/kernel/float_control.hpp"

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE::matmul_nbits::detail {

// scale * (midpoint - zero) if a float of the scales' type holds it exactly; then scale * (code - zero) is
// fma(scale, code - midpoint, this).
inline std::optional<float> exact_minimum(FloatType type, float scale, float zero, int midpoint) noexcept {
  const double difference = midpoint - double{zero};
  const bool exact = midpoint - difference == double{zero} && difference + double{zero} == midpoint;
  const double product = double{scale} * difference;
  auto minimum = static_cast<float>(product);
  const bool fits = double{minimum} == product && std::fma(double{scale}, difference, -product) == 0.0;
  bool kept = false;
  with_float_type(type, [&]<StoredFloat T>(T) { kept = to_float(from_float<T>(minimum)) == minimum; });
  return exact && fits && kept ? std::optional(minimum) : std::nullopt;
}

// Zero points of the type of x. Integers in 0..255 become integer zeros; others float zeros where those are
// exact.
inline Status set_float_zeros(CodedWeights& weights, const TensorChecks& checks,
                              const CheckpointTensor& zero_points) {
  const FloatControl control;  // subnormal zero points are not 0, whatever the host has set
  const std::vector<float> values = to_floats(zero_points);
  std::vector<std::uint8_t> zeros(values.size());
  bool integers = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    integers = integers && values[i] >= 0.0f && values[i] <= 255.0f && std::trunc(values[i]) == values[i];
    if (integers) zeros[i] = static_cast<std::uint8_t>(values[i]);
  }
  if (integers) {
    set_zeros(weights, std::move(zeros));
    return success();
  }
  weights.minima.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = i / weights.groups(), g = i % weights.groups();
    const auto minimum =
        exact_minimum(weights.scales.type, weights.scales.value(n, g), values[i], weights.midpoint());
    if (!minimum)
      return checks.error(ErrorCode::unsupported, zero_points.name,
                          "has zero point " + std::to_string(values[i]) + " for n = " + std::to_string(n) +
                              ", block " + std::to_string(g) +
                              "; it is no integer in 0..255, and scale * zero point is not exact");
    weights.minima[i] = *minimum;
  }
  return success();
}

}

EDGEQ_PRECISE_END

namespace edgeq::inline EDGEQ_BASELINE::matmul_nbits {

/// The inputs of one node, W [N, K] with G = ceil(K / block_size) blocks of blob = block_size * bits / 8
/// bytes. Codes are packed along K, LSB first; the last block is padded to a whole blob. W[n, k] = scale *
/// (code - zero point), the zero point being 2^(bits - 1) where there are none.
struct Tensors {
  CheckpointTensor b;       ///< U8, N * G * blob elements: [N, G, blob]
  CheckpointTensor scales;  ///< F16, BF16 or F32, N * G elements: [N, G] or [N * G]
  /// U8, each row of bit fields padded to whole bytes: N * ceil(G * bits / 8) elements; or F16, BF16 or F32,
  /// N * G elements.
  std::optional<CheckpointTensor> zero_points = {};
  std::optional<CheckpointTensor> g_idx = {};  ///< I32 [K] or [G * block_size], deprecated
};

/// The attributes of the node.
struct Parameters {
  std::size_t n = 0;
  std::size_t k = 0;
  int bits = 4;
  std::size_t block_size = 32;  ///< a power of two from 16 on
};

/// Checks the inputs of one node and reads its zero points.
///
/// invalid_argument: attributes out of range. invalid_file: sizes that do not follow from them, a g_idx that
/// names no block. unsupported: float zero points that no format holds exactly.
inline Result<CodedWeights> read_weights(const Tensors& tensors, const Parameters& parameters) {
  TensorChecks checks("MatMulNBits");
  const auto& [b, scales, zero_points, g_idx] = tensors;
  const auto& [n, k, bits, block] = parameters;
  const std::string sizes = "K = " + std::to_string(k) + ", N = " + std::to_string(n) + ", " +
                            std::to_string(bits) + " bits in blocks of " + std::to_string(block);
  checks.set_sizes(sizes);
  if (bits < 2 || bits > 8 || block < 16 || (block & (block - 1)) != 0)
    return checks.error(ErrorCode::invalid_argument, b.name,
                        "has " + sizes + "; there are 2 to 8 bits, and blocks are powers of two from 16 on");
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t groups = divide_up(k, block), blob = block / 8 * width;
  if (block > SIZE_MAX / 64 || (groups != 0 && (n > SIZE_MAX / 64 / groups ||
                                                blob > SIZE_MAX / 64 / groups / std::max<std::size_t>(n, 1))))
    return checks.error(ErrorCode::too_large, b.name, "has " + sizes + ", which does not fit in memory");

  const auto expect = [&](const CheckpointTensor& tensor, std::size_t elements,
                          ElementTypes types) -> Status {
    if (Status status = checks.type(tensor, types); !status) return status;
    if (Status status = checks.bytes(tensor); !status) return status;
    const std::size_t found = tensor.data.size() * 8 / element_info(tensor.type).bits;
    if (found == elements) return success();
    return checks.error(
        ErrorCode::invalid_file, tensor.name,
        "is " + describe(tensor) + "; " + sizes + " need " + std::to_string(elements) + " elements");
  };
  if (Status s = expect(b, n * groups * blob, {ElementType::u8}); !s) return s.error();
  if (Status s = expect(scales, n * groups, stored_floats); !s) return s.error();

  CodedWeights weights;
  weights.n = n;
  weights.k = k;
  weights.group = block;
  weights.codes = {.data = b.data, .bits = bits, .word_bits = 8, .line_step = groups * blob};
  weights.scales = {stored_float_type(scales.type), scales.data, groups, 1};
  if (zero_points && zero_points->type == ElementType::u8) {
    PackedFields fields = weights.codes;
    fields.data = zero_points->data;
    fields.line_step = fields.words_per_line(groups);
    if (Status s = expect(*zero_points, n * fields.line_step, {ElementType::u8}); !s) return s.error();
    set_zeros(weights, fields.get_all(n, groups));
  } else if (zero_points) {
    if (Status s = expect(*zero_points, n * groups, stored_floats); !s) return s.error();
    if (Status s = detail::set_float_zeros(weights, checks, *zero_points); !s) return s.error();
  }
  if (g_idx) {
    if (Status s = checks.type_and_shape(*g_idx, {ElementType::i32}, {{k}, {groups * block}}); !s)
      return s.error();
    auto order = group_order(checks, *g_idx, k, block, groups, UnsetGroupIndex::none);
    if (!order) return order.error();
    weights.order = std::move(*order);
  }
  return weights;
}

/// Calls f(source) with the weights as the format that holds them exactly: see edgeq::visit_weights. Returns
/// f's Result, or why read_weights refused.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f) {
  return edgeq::visit_weights(read_weights(tensors, parameters), f);
}

}
