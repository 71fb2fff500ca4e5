// SPDX-License-Identifier: Apache-2.0
// What GPTQ must know of a layer's inputs: the sum of x xᵀ over calibration rows, and the factor of its
// inverse.
#pragma once
#include <Eigen/Dense>
#include <cstdint>
#include <functional>
#include <vector>

#include "edgeq/matrix.hpp"
#include "edgeq/result.hpp"

namespace tool {

/// Runs task(0) ... task(tasks - 1), as an edgeq::Executor does.
using RunTasks = std::function<void(std::size_t tasks, const std::function<void(std::size_t)>& task)>;

/// On the calling thread, alone.
inline const RunTasks run_inline = [](std::size_t tasks, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < tasks; ++i) task(i);
};

/// The upper triangular U with UᵀU the inverse of a damped Hessian, whose columns stand in `order`, or in
/// their own where it is empty.
struct InverseFactor {
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> upper;
  std::vector<std::uint32_t> order;
};

/// The Hessian of the squared output error of a linear, but for a factor: the sum of x xᵀ, [K, K].
class Hessian {
 public:
  explicit Hessian(std::size_t k)
      : sum_(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(k))) {}

  /// Adds rows of x [M, K]. Sums do not depend on how the tasks run.
  void add(edgeq::MatrixView<const float> x, const RunTasks& run = run_inline);

  const Eigen::MatrixXd& sum() const noexcept { return sum_; }

  /// Adds damping times the mean of the diagonal to the diagonal, and 1 to elements of columns that were 0 in
  /// all rows. With act_order the columns with the largest diagonal come first. Refuses another K, what is
  /// not finite, and a sum that is not positive definite even so.
  edgeq::Result<InverseFactor> inverse_factor(std::size_t k, double damping, bool act_order,
                                              const RunTasks& run = run_inline) const;

 private:
  Eigen::MatrixXd sum_;
};

}
