// SPDX-License-Identifier: Apache-2.0
// Round-to-nearest: every group by itself, every float to the nearest code.
#pragma once
#include "edgeq/executor.hpp"
#include "edgeq/layout/panel.hpp"
#include "edgeq/matrix.hpp"
#include "edgeq/quantize/quantized_weights.hpp"

namespace edgeq::inline EDGEQ_BASELINE::quantize {

/// Quantizes W [N, K], row-major, as F. The result does not depend on the executor. `dynamic` is the group of
/// formats with dynamic_group.
template <class F, Executor E = InlineExecutor>
QuantizedWeights<F> round_to_nearest(MatrixView<const float> weights, Search search = Search::squared_error,
                                     std::size_t dynamic = 0, const E& executor = {}) {
  QuantizedWeights<F> result(weights.rows, weights.columns, dynamic);
  executor.run(result.n, [&](std::size_t n) {
    const float* row = weights.data + n * weights.stride;
    for (std::size_t g = 0; g < result.groups(); ++g) {
      const std::size_t begin = g * result.group, end = std::min(begin + result.group, result.k);
      const GroupParameters<F> p = fit<F>(std::span(row + begin, end - begin), search);
      result.set_parameters(n, g, p);
      for (std::size_t k = begin; k < end; ++k) result.set_code(n, k, p.encode(row[k]));
    }
  });
  return result;
}

}
