// SPDX-License-Identifier: Apache-2.0
// A type that is no weight format.
// expect: no type named .View.* in .*NotAFormat
#include "edgeq/linear.hpp"

struct NotAFormat {};

#ifdef EDGEQ_MISTAKE
using Layer = edgeq::Linear<NotAFormat>;
#else
using Layer = edgeq::Linear<edgeq::Int8<64>>;
#endif

std::size_t columns(const Layer& layer) {
  return layer.n();
}
