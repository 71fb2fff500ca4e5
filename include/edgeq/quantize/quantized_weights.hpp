// SPDX-License-Identifier: Apache-2.0
// Quantized weights in memory of their own, for quantizers to fill: the arrays behind a view.
#pragma once
#include <vector>

#include "edgeq/format/group_quantized.hpp"
#include "edgeq/layout/panel.hpp"
#include "edgeq/quantize/group_fit.hpp"

namespace edgeq::inline EDGEQ_BASELINE::quantize {

/// W [N, K] in a format F of one scale per group. A WeightSource by its view.
template <class F>
struct QuantizedWeights {
  using Scale = typename F::Scale;
  std::size_t n = 0, k = 0;
  std::size_t group = 1;
  std::vector<std::uint8_t> codes;  ///< [N, row_bytes(K)]
  std::vector<Scale> scales;        ///< [N, groups]
  std::vector<Scale> minima;        ///< [N, groups] for offset::FloatMinimum, or empty
  std::vector<std::uint8_t> zeros;  ///< [N, groups] for offset::IntegerZero, or empty

  /// Zeroed arrays for W [N, K]. `dynamic` is the group of formats with dynamic_group.
  QuantizedWeights(std::size_t n_in, std::size_t k_in, std::size_t dynamic = 0) : n(n_in), k(k_in) {
    typename F::View shape;
    shape.n = n;
    shape.k = k;
    shape.dynamic = dynamic;
    group = shape.group();
    static_assert(F::group != per_tensor, "edgeq: quantizers give every row a scale of its own");
    codes.resize(n * F::Codec::row_bytes(k));
    scales.resize(n * shape.groups());
    if (F::Offset::has_minima) minima.resize(scales.size());
    if (F::Offset::has_zeros) zeros.resize(scales.size());
  }

  std::size_t groups() const noexcept { return divide_up(k, group); }

  typename F::View view() const noexcept {
    typename F::View view{n, k, codes, scales};
    view.minima = minima;
    view.zeros = zeros;
    view.dynamic = group;
    return view;
  }

  void set_parameters(std::size_t row, std::size_t g, const GroupParameters<F>& p) noexcept {
    const std::size_t i = row * groups() + g;
    scales[i] = p.scale;
    if constexpr (F::Offset::has_minima) minima[i] = p.minimum;
    if constexpr (F::Offset::has_zeros) zeros[i] = static_cast<std::uint8_t>(p.zero);
  }
  GroupParameters<F> parameters(std::size_t row, std::size_t g) const noexcept {
    const std::size_t i = row * groups() + g;
    GroupParameters<F> p;
    p.scale = scales[i];
    if constexpr (F::Offset::has_minima) p.minimum = minima[i];
    if constexpr (F::Offset::has_zeros) p.zero = zeros[i];
    return p;
  }
  /// Sets a code that is still 0.
  void set_code(std::size_t row, std::size_t column, int code) noexcept {
    std::uint8_t* bytes = codes.data() + row * F::Codec::row_bytes(k);
    if constexpr (F::Codec::bits == 4)
      bytes[column / 2] = static_cast<std::uint8_t>(bytes[column / 2] | code << (column % 2 * 4));
    else
      bytes[column] = static_cast<std::uint8_t>(code);
  }
};

}
