// SPDX-License-Identifier: Apache-2.0
// A linear layer whose format and activation are known at run time only: what loaders keep in a vector.
#pragma once
#include <array>
#include <cassert>
#include <string_view>

#include "edgeq/kernel/float_control.hpp"
#include "edgeq/kernels.hpp"
#include "edgeq/layout/packed_weight.hpp"
#include "edgeq/matrix.hpp"
#include "edgeq/plan.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The activations under which a layer may be asked to run.
template <ActivationPolicy... Activations>
struct ActivationList {};

/// y = x Wᵀ + b with W [N, K] packed, immutable and shared: copies of a layer share panels, and so do its
/// views under other activations. All functions are const and may run on several threads at once, each with
/// its own Prepared and y.
class AnyLinear {
 public:
  /// Packs `source` as Format; the layer starts with the first of the activations. Refuses what
  /// PackedWeight::pack refuses, and a processor on which no kernel of a pair runs.
  template <WeightFormat Format, class Activations, class Isas = AllIsas, WeightSource<Format> Source,
            Executor E = InlineExecutor>
  static Result<AnyLinear> pack(const Source& source, const Bias& bias = {}, const E& executor = {},
                                CpuFeatures cpu = CpuFeatures::detect()) {
    auto weight = PackedWeight::pack<Format>(source, bias, executor);
    if (!weight) return weight.error();
    return of<Format, Activations, Isas>(std::move(*weight), cpu);
  }

  /// The same over panels that exist already.
  template <WeightFormat Format, class Activations, class Isas = AllIsas>
  static Result<AnyLinear> of(PackedWeight weight, CpuFeatures cpu) {
    return AnyLinear(std::move(weight), cpu, &Operations<Format, Activations, Isas>::format,
                     Operations<Format, Activations, Isas>::variants)
        .checked();
  }

  std::size_t n() const noexcept { return geometry().n; }
  std::size_t k() const noexcept { return geometry().k; }
  std::string format() const { return format_->name(); }
  const char* activation() const noexcept { return variant_->name; }
  const PackedWeight& weight() const noexcept { return weight_; }
  /// The processor it was built for.
  CpuFeatures cpu() const noexcept { return cpu_; }
  /// Whether activations prepared by the other layer are right for this one, at the same M.
  bool shares_activations_with(const AnyLinear& other) const noexcept {
    return std::string_view(activation()) == other.activation() && cpu_.bits == other.cpu_.bits &&
           geometry().shares_activations_with(other.geometry());
  }

  /// The same panels under another of the activations it was packed for, by name: "int8", "int8/group",
  /// "int16", "f32".
  Result<AnyLinear> with(std::string_view activation) const {
    for (const Variant& variant : variants_) {
      if (activation != variant.name) continue;
      AnyLinear other = *this;
      other.use(variant);
      return std::move(other).checked();
    }
    return Error{ErrorCode::unsupported,
                 "edgeq: " + format() + " was not compiled for activation " + std::string(activation)};
  }

  /// The same layer on the kernels of one ISA only, by name; for tests, diagnosis and comparison.
  Result<AnyLinear> only(std::string_view isa) const {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (isa != kernels_[i].isa) continue;
      AnyLinear other = *this;
      other.kernels_ = kernels_.subspan(i, 1);
      return std::move(other).checked();
    }
    return Error{ErrorCode::unsupported, "edgeq: no kernel of ISA " + std::string(isa) + " multiplies " +
                                             format() + " by " + activation() + " activations"};
  }

  /// Brings x [M, K] into the form that the kernel for M rows reads. Allocates only if `prepared` must grow.
  /// Refuses an x whose width is not K.
  template <Executor E = InlineExecutor>
  Status prepare(Prepared& prepared, MatrixView<const float> x, const E& executor = {}) const {
    if (x.columns != k())
      return Error{ErrorCode::invalid_argument,
                   "edgeq: x has " + std::to_string(x.columns) + " columns, K is " + std::to_string(k())};
    if (!prepared.resize(x.rows, layout_.row_bytes))
      return Error{ErrorCode::too_large, "edgeq: no memory for " + std::to_string(x.rows) + " prepared rows"};
    if (x.rows == 0) return success();
    const KernelEntry& kernel = select(x.rows);
    const std::size_t tasks = std::min<std::size_t>(x.rows, std::max<std::size_t>(executor.concurrency(), 1));
    executor.run(tasks, [&](std::size_t task) {
      const FloatControl control;
      kernel.prepare({&geometry(), layout_, x.data, x.stride, prepared.data(), x.rows * task / tasks,
                      x.rows * (task + 1) / tasks});
    });
    return success();
  }

  /// y [M, N] = x Wᵀ + b for x prepared by this layer, or by one that shares activations with it. Cannot
  /// fail; M = 0 and N = 0 touch nothing.
  template <Executor E = InlineExecutor>
  void run(const Prepared& prepared, MatrixView<float> y, const E& executor = {}) const noexcept {
    assert(y.columns == n() && y.rows == prepared.rows());
    if (y.rows == 0 || n() == 0) return;
    const KernelEntry& kernel = select(y.rows);
    const std::size_t panels = geometry().panels,
                      tasks = std::min<std::size_t>(panels, std::max<std::size_t>(executor.concurrency(), 1));
    executor.run(tasks, [&](std::size_t task) {
      const FloatControl control;
      kernel.gemm({&geometry(), layout_, weight_.panels(), weight_.bias(), prepared.data(), y.data, y.stride,
                   y.rows, panels * task / tasks, panels * (task + 1) / tasks});
    });
  }

  /// Row n of W as K floats, each the format's own decode; so that one packed table serves an embedding and
  /// the head.
  void dequantize_row(std::size_t n, float* out) const noexcept {
    const FloatControl control;
    format_->unpack_row(weight_, n, out);
  }

  /// The decision for M rows: kernel, rejected kernels with reasons, numerics, bytes.
  Plan plan(std::size_t m) const {
    Plan plan;
    plan.format = format();
    plan.activation = activation();
    plan.numerics = variant_->numerics;
    plan.m = m;
    plan.n = n();
    plan.k = k();
    plan.weight_bytes = geometry().packed_bytes();
    if (n() != 0 && k() != 0)
      plan.bits_per_weight =
          8.0 * static_cast<double>(plan.weight_bytes) / static_cast<double>(n()) / static_cast<double>(k());
    explain(kernels_, cpu_, m, plan);
    return plan;
  }

 private:
  struct FormatOperations {
    std::string (*name)();
    void (*unpack_row)(const PackedWeight&, std::size_t n, float* out) noexcept;
  };
  /// One activation under which the panels can be read.
  struct Variant {
    const char* name;
    const char* numerics;
    std::span<const KernelEntry> kernels;
    PreparedLayout (*layout)(const PanelGeometry&) noexcept;
  };
  template <class Format, class Activations, class Isas>
  struct Operations;
  template <class Format, class... Activations, class Isas>
  struct Operations<Format, ActivationList<Activations...>, Isas> {
    static constexpr FormatOperations format{
        &Format::name,
        [](const PackedWeight& w, std::size_t n, float* out) noexcept { w.unpack_row<Format>(n, out); }};
    static constexpr std::array<Variant, sizeof...(Activations)> variants{
        Variant{Activations::name, Activations::numerics, KernelTable<Format, Activations, Isas>::entries,
                [](const PanelGeometry& g) noexcept { return PreparedLayout::of<Activations>(g); }}...};
  };

  AnyLinear(PackedWeight weight, CpuFeatures cpu, const FormatOperations* format,
            std::span<const Variant> variants)
      : weight_(std::move(weight)), cpu_(cpu), format_(format), variants_(variants) {
    use(variants_.front());
  }
  void use(const Variant& variant) noexcept {
    variant_ = &variant;
    kernels_ = variant.kernels;
    layout_ = variant.layout(geometry());
  }
  Result<AnyLinear> checked() && {
    if (select_kernel(kernels_, cpu_, 1) == nullptr)
      return Error{ErrorCode::unsupported, "edgeq: no kernel runs here: " + plan(1).to_string()};
    return std::move(*this);
  }
  const PanelGeometry& geometry() const noexcept { return weight_.geometry(); }
  const KernelEntry& select(std::size_t m) const noexcept { return *select_kernel(kernels_, cpu_, m); }

  PackedWeight weight_;
  CpuFeatures cpu_;
  const FormatOperations* format_;
  std::span<const Variant> variants_;
  const Variant* variant_ = nullptr;
  std::span<const KernelEntry> kernels_;
  PreparedLayout layout_;
};

}
