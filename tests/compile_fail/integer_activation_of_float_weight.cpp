// SPDX-License-Identifier: Apache-2.0
// Integer activations cannot meet float weights.
// expect: edgeq: no kernel multiplies this weight format by this activation on any listed ISA
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
using Layer = edgeq::Linear<edgeq::Bf16Weight, edgeq::DynamicInt8>;
#else
using Layer = edgeq::Linear<edgeq::Bf16Weight, edgeq::F32>;
#endif

auto pack(const Layer::View& view) {
  return Layer::pack(view);
}
