// SPDX-License-Identifier: Apache-2.0
// A block of FP8 scales whose side is neither a number of rows nor one of the named ones.
// expect: edgeq: a block of scales has positive sides, dynamic_group, or per_tensor
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
using Format = edgeq::Fp8Block<-5, 128>;
#else
using Format = edgeq::Fp8Block<5, 128>;
#endif

auto pack(const Format::View& view) {
  return edgeq::Linear<Format>::pack(view);
}
