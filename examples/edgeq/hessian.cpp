// SPDX-License-Identifier: Apache-2.0
#include "hessian.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;

namespace {

/// Columns that one task works on.
constexpr Eigen::Index tile = 64;

/// Runs task(first column, columns) for all tiles of k columns.
template <class Task>
void for_each_tile(Eigen::Index k, const RunTasks& run, const Task& task) {
  run(static_cast<std::size_t>((k + tile - 1) / tile), [&](std::size_t i) {
    const Eigen::Index first = static_cast<Eigen::Index>(i) * tile;
    task(first, std::min(tile, k - first));
  });
}

}

void Hessian::add(edgeq::MatrixView<const float> x, const RunTasks& run) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Rows, 0, Eigen::OuterStride<>> rows(
      x.data, static_cast<Eigen::Index>(x.rows), static_cast<Eigen::Index>(x.columns),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(x.stride)));
  const Eigen::MatrixXd wide = rows.cast<double>();
  const Eigen::Index k = sum_.rows();
  for_each_tile(k, run, [&](Eigen::Index first, Eigen::Index count) {  // the lower half
    sum_.block(first, first, k - first, count).noalias() +=
        wide.rightCols(k - first).transpose() * wide.middleCols(first, count);
  });
}

edgeq::Result<InverseFactor> Hessian::inverse_factor(std::size_t k, double damping, bool act_order,
                                                     const RunTasks& run) const {
  const auto size = static_cast<std::size_t>(sum_.rows());
  if (size != k)
    return Error{ErrorCode::invalid_argument, "the calibration inputs have " + std::to_string(size) +
                                                  " columns, the weights " + std::to_string(k)};
  Eigen::MatrixXd h = sum_.selfadjointView<Eigen::Lower>();
  if (!h.allFinite())
    return Error{ErrorCode::invalid_argument, "the calibration inputs have elements that are not finite"};
  InverseFactor result;
  if (k == 0) return result;

  std::vector<std::uint32_t> order(k);
  std::iota(order.begin(), order.end(), 0u);
  const auto diagonal = [&](std::uint32_t i) { return h(i, i); };
  if (act_order)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return diagonal(a) > diagonal(b); });
  // With the columns reversed, L Lᵀ = H gives the upper triangular R Rᵀ = H, and U = R⁻¹ has UᵀU = H⁻¹.
  const double damp = damping * h.diagonal().mean();
  Eigen::MatrixXd reversed(h.rows(), h.cols());
  for (Eigen::Index i = 0; i < h.rows(); ++i)
    for (Eigen::Index j = 0; j < h.cols(); ++j)
      reversed(i, j) =
          h(order[k - 1 - static_cast<std::size_t>(i)], order[k - 1 - static_cast<std::size_t>(j)]);
  for (Eigen::Index i = 0; i < h.rows(); ++i) reversed(i, i) += reversed(i, i) == 0.0 ? 1.0 : damp;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(reversed);  // in place
  if (factor.info() != Eigen::Success)
    return Error{ErrorCode::invalid_argument,
                 "the Hessian of the calibration inputs is not positive definite with damping " +
                     std::to_string(damping)};
  result.upper.setZero(h.rows(), h.cols());
  for_each_tile(h.rows(), run, [&](Eigen::Index first, Eigen::Index count) {
    const Eigen::Index rest = h.rows() - first;
    Eigen::MatrixXd columns = Eigen::MatrixXd::Identity(rest, count);  // of the inverse of L
    reversed.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solveInPlace(columns);
    result.upper.block(0, rest - count, rest, count) = columns.reverse().cast<float>();
  });
  if (act_order) result.order = std::move(order);
  return result;
}

}
