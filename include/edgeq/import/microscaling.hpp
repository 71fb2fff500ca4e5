// SPDX-License-Identifier: Apache-2.0
// Linears of 4-bit floats with a scale for a few consecutive weights: MXFP4 as gpt-oss and compressed-tensors
// store it, NVFP4 as compressed-tensors and NVIDIA ModelOpt do.
#pragma once
#include <memory>
#include <optional>

#include "edgeq/format/formats.hpp"
#include "edgeq/import/float_tensor.hpp"

namespace edgeq::inline EDGEQ_BASELINE::microscaling {

/// The tensors of one linear W [N, K]: pairs of codes, even k in the low nibble, and scales along K.
struct Tensors {
  CheckpointTensor codes;   ///< U8 [N, K / 2]; of gpt-oss `*_blocks`, U8 [N, K / 32, 16]
  CheckpointTensor scales;  ///< MXFP4: U8 or F8_E8M0 [N, K / 32]; NVFP4: F8_E4M3 [N, K / 16]
  /// NVFP4: F32 [] or [1], the scale of all weights.
  std::optional<CheckpointTensor> tensor_scale = {};
};

/// What a scale of all weights does to the others.
enum class TensorScale : std::uint8_t {
  multiplies,  ///< ModelOpt's weight_scale_2
  divides,     ///< compressed-tensors' weight_global_scale
};

/// W [N, K] in codes of E2M1, as rows of one format. It views the codes; copies share the scales.
template <std::size_t Group, StoredScale Scale>
struct Source {
  using Format = Fp4<static_cast<int>(Group), Scale>;
  std::size_t n = 0, k = 0;
  std::span<const std::byte> codes;
  std::shared_ptr<const std::vector<Scale>> scales;  ///< [N, K / Group]

  WeightShape shape() const noexcept { return {n, k, Group}; }
  Status validate() const { return success(); }  // what visit_weights hands out has been checked
  void read(std::size_t row, std::size_t r, typename Format::Rows& rows) const noexcept {
    const auto* from = reinterpret_cast<const std::uint8_t*>(codes.data()) + row * (k / 2);
    for (std::size_t i = 0; i < k; ++i) rows.codes[r * k + i] = codec::NibbleLines::get(from, i);
    for (std::size_t g = 0; g < rows.groups; ++g)
      rows.scales[r * rows.groups + g] = (*scales)[row * rows.groups + g];
  }
};

namespace detail {

/// The checks that both formats share; returns [N, K].
inline Result<WeightShape> read_shape(TensorChecks& checks, const Tensors& tensors, std::size_t group,
                                      ElementTypes scale_types) {
  const CheckpointTensor& codes = tensors.codes;
  if (Status s = checks.type(codes, {ElementType::u8}); !s) return s.error();
  const bool is_blocks = codes.shape.size() == 3 && codes.shape[2] == group / 2;
  if (!is_blocks)
    if (Status s = checks.type_and_rank(codes, {ElementType::u8}, 2); !s) return s.error();
  if (Status s = checks.bytes(codes); !s) return s.error();
  const std::size_t n = codes.shape[0], pairs = is_blocks ? codes.shape[1] * (group / 2) : codes.shape[1];
  checks.set_sizes("N = " + std::to_string(n) + ", K = " + std::to_string(2 * pairs) + " in groups of " +
                   std::to_string(group));
  if (2 * pairs % group != 0)
    return checks.error(
        ErrorCode::invalid_file, codes.name,
        "has K = " + std::to_string(2 * pairs) + ", which is no multiple of " + std::to_string(group));
  if (Status s = checks.type_and_shape(tensors.scales, scale_types, {{n, 2 * pairs / group}}); !s)
    return s.error();
  return WeightShape{n, 2 * pairs, group};
}

}

/// Calls f(source) with an MXFP4 linear, W = E2M1 * 2^(scale - 127) for each 32 k. Returns f's Result, or why
/// it refused: other types and shapes.
template <class F>
auto visit_mxfp4(const Tensors& tensors, const F& f) -> decltype(f(Source<32, E8M0>{})) {
  TensorChecks checks("mxfp4");
  const auto shape = detail::read_shape(checks, tensors, 32, {ElementType::u8, ElementType::f8_e8m0});
  if (!shape) return shape.error();
  auto scales = std::make_shared<std::vector<E8M0>>(tensors.scales.data.size());
  for (std::size_t i = 0; i < scales->size(); ++i) (*scales)[i] = tensors.scales.at<E8M0>(i);
  return f(Source<32, E8M0>{shape->n, shape->k, tensors.codes.data, std::move(scales)});
}

/// Calls f(source) with an NVFP4 linear, W = E2M1 * (scale * tensor scale) for each 16 k, or scale / tensor
/// scale. Where every scale is an E4M3 number even so, or there is no tensor scale, scales stay 8 bits; else
/// they become the floats by which the checkpoint's own library multiplies. Returns f's Result, or why it
/// refused: other types and shapes, a tensor scale that is 0 or not finite.
template <class F>
auto visit_nvfp4(const Tensors& tensors, TensorScale use, const F& f) -> decltype(f(Source<16, float>{})) {
  TensorChecks checks("nvfp4");
  const auto shape = detail::read_shape(checks, tensors, 16, {ElementType::f8_e4m3});
  if (!shape) return shape.error();
  float factor = 1.0f;
  if (tensors.tensor_scale) {
    if (Status s = checks.type_and_shape(*tensors.tensor_scale, {ElementType::f32}, {{}, {1}}); !s)
      return s.error();
    factor = tensors.tensor_scale->at<float>(0);
    if (!std::isfinite(factor) || factor == 0.0f)
      return checks.error(ErrorCode::invalid_file, tensors.tensor_scale->name,
                          "is " + std::to_string(factor));
  }
  auto floats = std::make_shared<std::vector<float>>(tensors.scales.data.size());
  auto bytes = std::make_shared<std::vector<Float8E4M3>>(floats->size());
  bool are_bytes = true;
  for (std::size_t i = 0; i < floats->size(); ++i) {
    const float stored = tensors.scales.at<Float8E4M3>(i).to_float();
    const float scale = use == TensorScale::divides ? stored / factor : stored * factor;
    (*floats)[i] = scale;
    (*bytes)[i] = Float8E4M3::from_float(scale);
    are_bytes = are_bytes && (std::isnan(scale) || (*bytes)[i].to_float() == scale);
  }
  if (are_bytes) return f(Source<16, Float8E4M3>{shape->n, shape->k, tensors.codes.data, std::move(bytes)});
  return f(Source<16, float>{shape->n, shape->k, tensors.codes.data, std::move(floats)});
}

}
