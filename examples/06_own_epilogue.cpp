// SPDX-License-Identifier: Apache-2.0
// A float expression of your own on y: written once, run on SIMD batches when edgeq::xsimd is linked.
#include <cstdio>
#include <vector>

#include "edgeq/epilogue/epilogue.hpp"

/// Clips and squares: the squared ReLU of some language models, with a ceiling.
struct ClippedSquare {
  template <class V>
  V operator()(V x) const {
    using std::max;
    using std::min;
    const V positive = min(max(x, V(0.0f)), V(8.0f));
    return positive * positive;
  }
};

int main() {
  std::vector<float> y(21);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i) - 10.0f;
  edgeq::apply(ClippedSquare{}, edgeq::MatrixView<float>(y.data(), 3, 7));
  for (float v : y) std::printf("%g ", static_cast<double>(v));
  std::printf("\n");
}
