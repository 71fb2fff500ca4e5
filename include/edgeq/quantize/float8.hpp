// SPDX-License-Identifier: Apache-2.0
// Floats to FP8 with a scale for each block of the matrix, or for each row.
#pragma once
#include <cmath>
#include <vector>

#include "edgeq/executor.hpp"
#include "edgeq/format/scaled_float.hpp"
#include "edgeq/layout/panel.hpp"
#include "edgeq/matrix.hpp"

namespace edgeq::inline EDGEQ_BASELINE::quantize {

/// FP8 weights in memory of their own: the arrays behind a view.
template <class F>
struct ScaledFloatWeights {
  std::size_t n = 0, k = 0, block_n = 1, block_k = 1;
  std::vector<std::uint8_t> codes;  ///< [N, K]
  std::vector<float> scales;        ///< [ceil(N / block_n), ceil(K / block_k)], which multiply

  typename F::View view() const noexcept {
    typename F::View view;
    view.n = n;
    view.k = k;
    view.codes = codes;
    view.scales = scales;
    view.dynamic_n = block_n;
    view.dynamic_k = block_k;
    return view;
  }
};

/// Quantizes W [N, K], row-major, as F, a ScaledFloat: scale = max |w| of a block / the largest finite code,
/// 1 for blocks of zeros; code = w / scale, rounded to nearest even. What is not finite is taken as 0. The
/// arguments are the block of formats with dynamic sides.
template <class F, Executor E = InlineExecutor>
ScaledFloatWeights<F> scaled_float(MatrixView<const float> weights, std::size_t dynamic_n = 0,
                                   std::size_t dynamic_k = 0, const E& executor = {}) {
  using Element = typename F::Element;
  constexpr float largest = Element{Element::first_special - 1}.to_float();
  ScaledFloatWeights<F> result;
  result.n = weights.rows;
  result.k = weights.columns;
  result.block_n = dynamic_n;
  result.block_k = dynamic_k;
  const typename F::View shape = result.view();
  result.block_n = shape.block_n();
  result.block_k = shape.group();
  const std::size_t block_rows = divide_up(result.n, result.block_n),
                    groups = divide_up(result.k, result.block_k);
  result.codes.resize(result.n * result.k);
  result.scales.resize(block_rows * groups);

  const auto weight = [&](std::size_t n, std::size_t k) {
    const float w = weights.data[n * weights.stride + k];
    return std::isfinite(w) ? w : 0.0f;
  };
  executor.run(block_rows, [&](std::size_t b) {
    const std::size_t n_end = std::min((b + 1) * result.block_n, result.n);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t k_end = std::min((g + 1) * result.block_k, result.k);
      float extreme = 0.0f;
      for (std::size_t n = b * result.block_n; n < n_end; ++n)
        for (std::size_t k = g * result.block_k; k < k_end; ++k)
          extreme = std::max(extreme, std::fabs(weight(n, k)));
      float scale = extreme / largest;
      if (scale == 0.0f) scale = extreme == 0.0f ? 1.0f : std::numeric_limits<float>::denorm_min();
      result.scales[b * groups + g] = scale;
      for (std::size_t n = b * result.block_n; n < n_end; ++n)
        for (std::size_t k = g * result.block_k; k < k_end; ++k)
          result.codes[n * result.k + k] = Element::from_float(weight(n, k) / scale).bits;
    }
  });
  return result;
}

}
