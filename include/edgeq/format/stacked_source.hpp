// SPDX-License-Identifier: Apache-2.0
// Several matrices of one K as one: q, k and v, or gate and up, become a single layer with a single fork and
// join.
#pragma once
#include <algorithm>
#include <vector>

#include "edgeq/format/weight_format.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The rows of all parts, in order: W = [W0; W1; ...]. A WeightSource if the parts are.
template <class Source>
struct StackedSource {
  std::vector<Source> parts;

  WeightShape shape() const {
    WeightShape total = parts.empty() ? WeightShape{0, 0, 1} : parts.front().shape();
    total.n = 0;
    for (const Source& part : parts) total.n += part.shape().n;
    return total;
  }
  /// Refuses parts that are at fault themselves, or differ in K, group or order.
  Status validate() const {
    for (const Source& part : parts) {
      if (Status status = part.validate(); !status) return status;
      const WeightShape first = parts.front().shape(), shape = part.shape();
      if (shape.k != first.k || shape.group != first.group)
        return Error{ErrorCode::invalid_argument,
                     "edgeq: stacked matrices differ in K or group: " + std::to_string(first.k) + " / " +
                         std::to_string(first.group) + " and " + std::to_string(shape.k) + " / " +
                         std::to_string(shape.group)};
      if (!std::ranges::equal(shape.order, first.order))
        return Error{ErrorCode::invalid_argument,
                     "edgeq: stacked matrices order the columns of x in different ways"};
    }
    return success();
  }
  template <class Rows>
  void read(std::size_t n, std::size_t r, Rows& rows) const noexcept {
    for (const Source& part : parts) {
      const std::size_t count = part.shape().n;
      if (n < count) return part.read(n, r, rows);
      n -= count;
    }
  }
};

}
