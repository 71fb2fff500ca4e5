// SPDX-License-Identifier: Apache-2.0
// Linears of FP8 checkpoints: DeepSeek's and Qwen's blocks with `weight_scale_inv`, and weights with a scale
// per output column or for all of them.
#pragma once
#include <memory>
#include <optional>

#include "edgeq/format/formats.hpp"
#include "edgeq/import/float_tensor.hpp"
#include "edgeq/layout/panel.hpp"

namespace edgeq::inline EDGEQ_BASELINE::fp8 {

/// The tensors of one linear W [N, K]: W[n, k] = weight * scale. A `weight_scale_inv` is multiplied, too.
struct Tensors {
  CheckpointTensor weight;  ///< F8_E4M3 or F8_E5M2 [N, K]
  /// F32, F16, BF16 or F8_E8M0: [ceil(N / rows), ceil(K / columns)] for blocks; [N] or [N, 1] per output
  /// column; [], [1] or [1, 1] for all weights.
  CheckpointTensor scale;
};

/// The sides of the blocks that share a scale.
struct Block {
  std::size_t rows = 128;
  std::size_t columns = 128;
};

struct Parameters {
  /// `weight_block_size` of the quantization config. Never guessed: 1000 rows with 8 scales are blocks of
  /// 128, not 125. Without it the scale is one per output column or one for all, as its shape says.
  std::optional<Block> block = {};
};

/// W [N, K] of one checkpoint tensor. It views the codes, and shares the widened scales with its copies.
template <class Element>
struct Source {
  using Format = Fp8Block<dynamic_group, dynamic_group, Element>;
  typename Format::View view;
  std::shared_ptr<const std::vector<float>> scales;  ///< of the whole tensor: what the view's scales are in

  WeightShape shape() const noexcept { return view.shape(); }
  Status validate() const { return view.validate(); }
  void read(std::size_t n, std::size_t r, typename Format::Rows& rows) const noexcept {
    view.read(n, r, rows);
  }

  /// Rows first .. first + count - 1, which need not begin at a block: a shard, or a part of a fused matrix.
  /// Refuses rows that are not there.
  Result<Source> slice(std::size_t first, std::size_t count) const {
    if (first > view.n || count > view.n - first)
      return Error{ErrorCode::invalid_argument, "fp8: rows " + std::to_string(first) + " to " +
                                                    std::to_string(first) + " + " + std::to_string(count) +
                                                    " of a matrix of " + std::to_string(view.n)};
    Source part = *this;
    part.view.first_row += first;
    part.view.n = count;
    part.view.codes = view.codes.subspan(first * view.k, count * view.k);
    const std::size_t block_rows = count == 0 ? 0 : (part.view.first_row + count - 1) / view.block_n() + 1;
    part.view.scales = view.scales.first(block_rows * view.groups());
    return part;
  }
};

/// Calls f(source) with Source<Float8E4M3> or Source<Float8E5M2>, its scales widened exactly to binary32.
/// Returns f's Result, or why it refused.
///
/// unsupported: other element types; the "fnuz" ones have another bias. invalid_argument: a block of 0.
/// invalid_file: a scale that does not have the shape that N, K and the block need.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f)
    -> decltype(f(Source<Float8E4M3>{})) {
  TensorChecks checks("fp8");
  const CheckpointTensor &weight = tensors.weight, &scale = tensors.scale;
  if (Status s = checks.type_and_rank(weight, {ElementType::f8_e4m3, ElementType::f8_e5m2}, 2); !s)
    return s.error();
  const std::size_t n = weight.shape[0], k = weight.shape[1];
  Block block = parameters.block.value_or(Block{1, std::max<std::size_t>(k, 1)});
  if (block.rows == 0 || block.columns == 0)
    return checks.error(
        ErrorCode::invalid_argument, weight.name,
        "is said to have blocks of " + std::to_string(block.rows) + " x " + std::to_string(block.columns));
  static constexpr ElementTypes types{ElementType::f32, ElementType::f16, ElementType::bf16,
                                      ElementType::f8_e8m0};
  checks.set_sizes("K = " + std::to_string(k) + ", N = " + std::to_string(n) +
                   (parameters.block ? " in blocks of " + std::to_string(block.rows) + " x " +
                                           std::to_string(block.columns)
                                     : ""));
  if (parameters.block) {
    const TensorShape needed{divide_up(n, block.rows), divide_up(k, block.columns)};
    if (Status s = checks.type_and_shape(scale, types, {needed}); !s) return s.error();
  } else {
    if (Status s = checks.type_and_shape(scale, types, {{}, {1}, {1, 1}, {n}, {n, 1}}); !s) return s.error();
    if (scale.data.size() * 8 == element_info(scale.type).bits) block.rows = std::max<std::size_t>(n, 1);
  }

  const auto visit = [&]<class Element>(Element) {
    Source<Element> source;
    source.scales = std::make_shared<const std::vector<float>>(to_floats(scale));
    source.view.n = n;
    source.view.k = k;
    source.view.codes = {reinterpret_cast<const std::uint8_t*>(weight.data.data()), weight.data.size()};
    source.view.dynamic_n = block.rows;
    source.view.dynamic_k = block.columns;
    const std::size_t used = k == 0 || n == 0 ? 0 : source.scales->size();  // scales without weights
    source.view.scales = std::span(*source.scales).first(used);
    return f(source);
  };
  return weight.type == ElementType::f8_e4m3 ? visit(Float8E4M3{}) : visit(Float8E5M2{});
}

}
