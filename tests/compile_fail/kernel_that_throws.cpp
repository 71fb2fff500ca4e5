// SPDX-License-Identifier: Apache-2.0
// A kernel from outside whose functions may throw is no kernel.
// expect: edgeq: no kernel multiplies this weight format by this activation on any listed ISA
#include "edgeq/linear.hpp"

#ifdef EDGEQ_MISTAKE
#define MAY_THROW
#else
#define MAY_THROW noexcept
#endif

namespace accelerator {
struct Isa {
  static constexpr const char* name = "accelerator";
  static constexpr std::uint32_t features = 0;
};
}

namespace edgeq {
template <WeightFormat Format, ActivationPolicy Activation>
struct MicroKernel<Format, Activation, accelerator::Isa> {
  static constexpr std::size_t min_m = 1;
  static PreparedLayout layout(const PanelGeometry&) MAY_THROW { return {}; }
  static void prepare(const PrepareArguments&) MAY_THROW {}
  static void gemm(const GemmArguments&) MAY_THROW {}
};
}

using Layer = edgeq::Linear<edgeq::Int4<32>, edgeq::DynamicInt8, edgeq::IsaList<accelerator::Isa>>;
auto pack(const Layer::View& view) {
  return Layer::pack(view);
}
