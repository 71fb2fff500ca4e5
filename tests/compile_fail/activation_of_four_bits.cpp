// SPDX-License-Identifier: Apache-2.0
// Activations are quantized to one or two bytes.
// expect: edgeq: activations are quantized to 8 or 16 bits
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
using Activation = edgeq::DynamicInteger<4, edgeq::PerRow>;
#else
using Activation = edgeq::DynamicInteger<16, edgeq::PerRow>;
#endif

using Layer = edgeq::Linear<edgeq::Int4<32>, Activation>;
auto pack(const Layer::View& view) {
  return Layer::pack(view);
}
