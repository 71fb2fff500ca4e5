// SPDX-License-Identifier: Apache-2.0
// What happens to y after the product: float expressions written once, run on xsimd batches where the
// component is linked and on single floats elsewhere.
#pragma once
#include <cmath>
#include <cstddef>

#include "edgeq/executor.hpp"
#include "edgeq/matrix.hpp"
#if defined(EDGEQ_HAS_XSIMD)  // set by the CMake target edgeq::xsimd
#include <xsimd/xsimd.hpp>
#endif

namespace edgeq::inline EDGEQ_BASELINE {

namespace epilogue {

/// x / (1 + e^-x). The gate of SwiGLU.
struct Silu {
  template <class V>
  V operator()(V x) const {
    using std::exp;
    return x / (V(1.0f) + exp(-x));
  }
};

/// max(x, 0).
struct Relu {
  template <class V>
  V operator()(V x) const {
    using std::max;
    return max(x, V(0.0f));
  }
};

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the tanh form of GELU (Hendrycks, Gimpel 2016).
struct Gelu {
  template <class V>
  V operator()(V x) const {
    using std::tanh;
    return V(0.5f) * x * (V(1.0f) + tanh(V(0.7978845608f) * (x + V(0.044715f) * x * x * x)));
  }
};

/// silu(gate) * up.
struct SwiGlu {
  template <class V>
  V operator()(V gate, V up) const {
    return Silu{}(gate)*up;
  }
};

}

/// out[i] = function(inputs[i]...) for `count` elements; inputs and out may be the same. The function takes
/// and returns any V with float arithmetic: xsimd::batch<float> or float. How results round at the last bit
/// depends on which.
template <class Function, class... Input>
void apply(const Function& function, float* out, std::size_t count, const Input*... inputs) {
  std::size_t i = 0;
#if defined(EDGEQ_HAS_XSIMD)
  using Batch = xsimd::batch<float>;
  for (; i + Batch::size <= count; i += Batch::size)
    function(Batch::load_unaligned(inputs + i)...).store_unaligned(out + i);
#endif
  for (; i < count; ++i) out[i] = function(inputs[i]...);
}

/// y = function(y) in place, rows split over the executor.
template <class Function, Executor E = InlineExecutor>
void apply(const Function& function, MatrixView<float> y, const E& executor = {}) {
  executor.run(y.rows, [&](std::size_t m) { apply(function, y.row(m), y.columns, y.row(m)); });
}

}
