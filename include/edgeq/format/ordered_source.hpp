// SPDX-License-Identifier: Apache-2.0
// Weights whose columns stand in an order of their own, out of a source that counts positions.
#pragma once
#include <vector>

#include "edgeq/format/weight_format.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// W [N, K] whose column order[i], or none (no_column), stands at position i of `positions`, a WeightSource
/// of N rows and order.size() columns. An empty order is the natural one.
template <class Source>
struct OrderedSource {
  Source positions;
  std::size_t k = 0;
  std::vector<std::uint32_t> order;

  WeightShape shape() const {
    WeightShape shape = positions.shape();
    shape.k = k;
    shape.order = order;
    return shape;
  }
  /// Refuses what `positions` refuses, and an order of another length than its K.
  Status validate() const {
    const std::size_t length = positions.shape().k;
    if (length != (order.empty() ? k : order.size()))
      return Error{ErrorCode::invalid_argument, "edgeq: an order of " + std::to_string(order.size()) +
                                                    " positions for weights of " + std::to_string(length)};
    return positions.validate();
  }
  template <class Rows>
  void read(std::size_t n, std::size_t r, Rows& rows) const noexcept {
    positions.read(n, r, rows);
  }
};

}
