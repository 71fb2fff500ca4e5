// SPDX-License-Identifier: Apache-2.0
// GPTQ (Frantar et al. 2022, arXiv:2210.17323): codes that minimize the error of a layer's output on
// calibration inputs, column by column, the error of each made up for by the columns to come.
#pragma once
#include <Eigen/Dense>
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "edgeq/executor.hpp"
#include "edgeq/quantize/quantized_weights.hpp"
#include "gptq_options.hpp"
#include "hessian.hpp"

namespace tool {

/// Codes by positions; position i is column order[i], or i where order is empty (as with static groups).
template <class F>
struct GptqWeights {
  edgeq::quantize::QuantizedWeights<F> positions;
  std::vector<std::uint32_t> order;
};

/// Quantizes W [N, K], row-major, for inputs with this Hessian, as F. The result does not depend on the
/// executor. Refuses a Hessian of another size or with what is not finite.
///
/// With the inverse of the damped Hessian H = UᵀU, U upper triangular, a column j with error e leaves
/// e / U[j, j] * U[j, i] to be subtracted from each later column i: the least squares answer to it (equation
/// 3 and section 3.3, step 3 of the paper). A group's scale is fitted when its first column is reached, or
/// before with static groups.
template <class F, edgeq::Executor E>
edgeq::Result<GptqWeights<F>> gptq(edgeq::MatrixView<const float> weights, const Hessian& hessian,
                                   const GptqOptions& options, std::size_t dynamic, const E& executor) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::size_t n = weights.rows, k = weights.columns;
  const RunTasks run = [&](std::size_t tasks, const std::function<void(std::size_t)>& task) {
    executor.run(tasks, task);
  };
  auto factor = hessian.inverse_factor(k, options.damping, options.act_order, run);
  if (!factor) return factor.error();
  const Matrix& u = factor->upper;
  GptqWeights<F> result{edgeq::quantize::QuantizedWeights<F>(n, k, dynamic), std::move(factor->order)};
  auto& q = result.positions;
  const auto column = [&](std::size_t position) {
    return result.order.empty() ? position : std::size_t{result.order[position]};
  };

  const auto fit = [&](const float* from, std::size_t g) {
    return edgeq::quantize::fit<F>(std::span(from, std::min(q.group, k - g * q.group)), options.search);
  };

  // Errors wait within a block and reach the columns behind it as one product. Groups are fitted to columns
  // that nothing is owed to: a block holds whole groups, or the one group begins with it.
  constexpr std::size_t shortest_block = 128, tile = 32;
  const bool is_static = options.static_groups;
  const std::size_t block =
      is_static || q.group >= k ? shortest_block : edgeq::round_up(shortest_block, q.group);
  executor.run(edgeq::divide_up(n, tile), [&](std::size_t t) {
    const std::size_t first = t * tile, rows = std::min(tile, n - first);
    std::vector<float> w(rows * k), errors(rows * block);
    for (std::size_t r = 0; r < rows; ++r) {
      const float* row = weights.row(first + r);
      for (std::size_t i = 0; i < k; ++i)
        w[r * k + i] = std::isfinite(row[column(i)]) ? row[column(i)] : 0.0f;
      for (std::size_t g = 0; is_static && g < q.groups(); ++g)
        q.set_parameters(first + r, g, fit(row + g * q.group, g));
    }
    for (std::size_t begin = 0; begin < k; begin += block) {
      const std::size_t end = std::min(begin + block, k);
      for (std::size_t r = 0; r < rows; ++r) {
        float* row = w.data() + r * k;
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t place = is_static ? column(i) : i, g = place / q.group;
          if (!is_static && i % q.group == 0) q.set_parameters(first + r, g, fit(row + i, g));
          const auto parameters = q.parameters(first + r, g);
          const int code = parameters.encode(row[i]);
          q.set_code(first + r, place, code);
          const float* factors = u.data() + i * k;
          const float error = (row[i] - parameters.decode(code)) / factors[i];
          errors[r * block + i - begin] = error;
          for (std::size_t j = i + 1; j < end; ++j) row[j] -= error * factors[j];
        }
      }
      const auto from = static_cast<Eigen::Index>(begin), count = static_cast<Eigen::Index>(end - begin),
                 rest = static_cast<Eigen::Index>(k - end);
      const Eigen::Map<const Matrix> owed(errors.data(), static_cast<Eigen::Index>(rows),
                                          static_cast<Eigen::Index>(block));
      Eigen::Map<Matrix>(w.data(), static_cast<Eigen::Index>(rows), u.cols()).rightCols(rest).noalias() -=
          owed.leftCols(count) * u.block(from, from + count, count, rest);
    }
  });
  if (is_static) result.order.clear();
  return result;
}

}
