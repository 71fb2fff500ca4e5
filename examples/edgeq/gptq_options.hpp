// SPDX-License-Identifier: Apache-2.0
// What GPTQ can be told.
#pragma once
#include "edgeq/quantize/group_fit.hpp"

namespace tool {

/// How GPTQ proceeds.
struct GptqOptions {
  double damping = 0.01;   ///< times the mean of the Hessian's diagonal, added to it
  bool act_order = false;  ///< columns in descending order of their part of the Hessian's diagonal
  edgeq::quantize::Search search = edgeq::quantize::Search::extremes;
  /// Groups are neighbours in W whatever the order, their scales fitted before any error is known; otherwise
  /// groups follow the order.
  bool static_groups = false;
};

}
