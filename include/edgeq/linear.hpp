// SPDX-License-Identifier: Apache-2.0
// y = x Wᵀ + b with quantized W. Start reading here.
#pragma once
#include "edgeq/any_linear.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The most faithful activation that costs nothing where decode is bound by memory.
template <WeightFormat Format>
using DefaultActivation = std::conditional_t<Format::is_integer, DynamicInt16, Bf16>;

/// A linear layer whose format and activation are types, e.g. Linear<Int4<48>> or Linear<Int8<64>,
/// DynamicInt8>.
///
///     auto layer = edgeq::Linear<edgeq::Int4<48>>::pack({.n = N, .k = K, .codes = codes, .scales = scales});
///     if (!layer) return report(layer.error().message);
///     edgeq::Prepared workspace;
///     if (auto status = layer->prepare(workspace, {x, M, K}); !status) return
///     report(status.error().message); layer->run(workspace, {y, M, N}, pool);
///
/// The default activation is faithful (error about 3e-5 of the row) and costs nothing where decode is bound
/// by memory; DynamicInt8 doubles the speed of prefill.
template <WeightFormat Format, ActivationPolicy Activation = DefaultActivation<Format>, class Isas = AllIsas>
class Linear : public AnyLinear {
 public:
  using View = typename Format::View;

  /// Validates and packs. Refuses sizes and spans that contradict each other, and says which.
  template <Executor E = InlineExecutor>
  static Result<Linear> pack(const View& view, const Bias& bias = {}, const E& executor = {},
                             CpuFeatures cpu = CpuFeatures::detect()) {
    return pack_from(view, bias, executor, cpu);
  }

  /// The same from any source of rows, for weights that do not lie in memory as a View.
  template <WeightSource<Format> Source, Executor E = InlineExecutor>
  static Result<Linear> pack_from(const Source& source, const Bias& bias = {}, const E& executor = {},
                                  CpuFeatures cpu = CpuFeatures::detect()) {
    return typed(AnyLinear::pack<Format, ActivationList<Activation>, Isas>(source, bias, executor, cpu));
  }

  /// The same panels under another activation: nothing is packed again.
  template <ActivationPolicy Other>
  Result<Linear<Format, Other, Isas>> with() const {
    return Linear<Format, Other, Isas>::typed(
        AnyLinear::of<Format, ActivationList<Other>, Isas>(weight(), cpu()));
  }

 private:
  template <WeightFormat, ActivationPolicy, class>
  friend class Linear;
  explicit Linear(AnyLinear layer) noexcept : AnyLinear(std::move(layer)) {}
  static Result<Linear> typed(Result<AnyLinear> layer) {
    if (!layer) return layer.error();
    return Linear(std::move(*layer));
  }
};

}
