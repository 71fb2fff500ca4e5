// SPDX-License-Identifier: Apache-2.0
#include "hessian.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;

void Hessian::add(edgeq::MatrixView<const float> x) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Rows, 0, Eigen::OuterStride<>> rows(
      x.data, static_cast<Eigen::Index>(x.rows), static_cast<Eigen::Index>(x.columns),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(x.stride)));
  const Eigen::MatrixXd wide = rows.cast<double>();
  sum_.selfadjointView<Eigen::Lower>().rankUpdate(wide.transpose());
}

edgeq::Result<InverseFactor> Hessian::inverse_factor(std::size_t k, double damping, bool act_order) const {
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
  const double damp = damping * h.diagonal().mean();
  Eigen::MatrixXd ordered(h.rows(), h.cols());
  for (Eigen::Index i = 0; i < h.rows(); ++i)
    for (Eigen::Index j = 0; j < h.cols(); ++j)
      ordered(i, j) = h(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  for (Eigen::Index i = 0; i < h.rows(); ++i) ordered(i, i) += ordered(i, i) == 0.0 ? 1.0 : damp;

  const Eigen::LLT<Eigen::MatrixXd> factor(ordered);
  const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(h.rows(), h.cols()));
  const Eigen::LLT<Eigen::MatrixXd> inverse_factor(inverse);
  if (factor.info() != Eigen::Success || inverse_factor.info() != Eigen::Success)
    return Error{ErrorCode::invalid_argument,
                 "the Hessian of the calibration inputs is not positive definite with damping " +
                     std::to_string(damping)};
  result.upper = Eigen::MatrixXd(inverse_factor.matrixU()).cast<float>();
  if (act_order) result.order = std::move(order);
  return result;
}

}
