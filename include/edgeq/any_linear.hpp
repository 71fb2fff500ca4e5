// SPDX-License-Identifier: Apache-2.0
// A linear layer whose format and activation are known at run time only: what loaders keep in a vector.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
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
    return of<Format, Activations, Isas>(std::move(*weight), cpu, executor);
  }

  /// The same over panels that exist already.
  template <WeightFormat Format, class Activations, class Isas = AllIsas, Executor E = InlineExecutor>
  static Result<AnyLinear> of(PackedWeight weight, CpuFeatures cpu, const E& executor = {}) {
    if constexpr (Operations<Format, Activations, Isas>::needs_column_sums)
      if (Status status = weight.find_column_sums<Format>(executor); !status) return status.error();
    return AnyLinear(std::move(weight), cpu, &Operations<Format, Activations, Isas>::format,
                     Operations<Format, Activations, Isas>::variants)
        .checked();
  }

  std::size_t n() const noexcept { return geometry().n; }
  std::size_t k() const noexcept { return weight_.k(); }
  std::string format() const { return format_->name(); }
  const char* activation() const noexcept { return variant_->name; }
  const PackedWeight& weight() const noexcept { return weight_; }
  /// The processor it was built for.
  CpuFeatures cpu() const noexcept { return cpu_; }
  /// Whether activations prepared by the other layer are right for this one, at the same M.
  bool shares_activations_with(const AnyLinear& other) const noexcept {
    if (!geometry().shares_activations_with(other.geometry()) || range_ != other.range_ ||
        !std::ranges::equal(weight_.order(), other.weight_.order()))
      return false;
    // The choice of either can change at the rows where one of its kernels begins to pay.
    const auto agree = [&](std::span<const KernelEntry> kernels) {
      for (const KernelEntry& kernel : kernels) {
        const KernelEntry &mine = select(kernel.min_m), &theirs = other.select(kernel.min_m);
        if (mine.prepare != theirs.prepare || mine.layout(geometry()) != theirs.layout(other.geometry()))
          return false;
      }
      return true;
    };
    return agree(kernels_) && agree(other.kernels_);
  }

  /// The same panels under another of the activations it was packed for, by name: "int8", "int8/group",
  /// "int8/zero", "int8/static", "int16", "bf16", "f32".
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

  /// The same layer with the scale and zero point that a calibration found for x; without them, layers of
  /// StaticInt8 refuse to prepare. Refuses a scale that is not finite and positive, a zero beyond int8.
  Result<AnyLinear> with_range(ActivationRange range) const {
    if (!range.valid())
      return Error{ErrorCode::invalid_argument,
                   "edgeq: an activation range of scale " + std::to_string(range.scale) + " and zero " +
                       std::to_string(range.zero) + "; the scale must be positive, the zero in -128..127"};
    AnyLinear other = *this;
    other.range_ = range;
    return other;
  }

  /// The same layer on the kernels of one ISA only, by name, from one row on; for tests, diagnosis and
  /// comparison.
  Result<AnyLinear> only(std::string_view isa) const {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (isa != kernels_[i].isa) continue;
      AnyLinear other = *this;
      other.kernels_ = kernels_.subspan(i, 1);
      other.forced_ = true;
      return std::move(other).checked();
    }
    return Error{ErrorCode::unsupported, "edgeq: no kernel of ISA " + std::string(isa) + " multiplies " +
                                             format() + " by " + activation() + " activations"};
  }

  /// Brings x [M, K], of float, BFloat16 or Float16, into the form that the kernel for M rows reads.
  /// Allocates only if `prepared` must grow. Refuses an x whose width is not K.
  template <Executor E = InlineExecutor>
  Status prepare(Prepared& prepared, MatrixView<const float> x, const E& executor = {}) const {
    return prepare_rows(prepared, x, executor);
  }
  template <Executor E = InlineExecutor>
  Status prepare(Prepared& prepared, MatrixView<const BFloat16> x, const E& executor = {}) const {
    return prepare_rows(prepared, x, executor);
  }
  template <Executor E = InlineExecutor>
  Status prepare(Prepared& prepared, MatrixView<const Float16> x, const E& executor = {}) const {
    return prepare_rows(prepared, x, executor);
  }

  /// y [M, N] = x Wᵀ + b for x prepared by this layer, or by one that shares activations with it. As BFloat16
  /// or Float16, y is the float result rounded to nearest even. Cannot fail; M = 0 and N = 0 touch nothing.
  template <Executor E = InlineExecutor>
  void run(const Prepared& prepared, MatrixView<float> y, const E& executor = {}) const noexcept {
    multiply(prepared, y, executor);
  }
  template <Executor E = InlineExecutor>
  void run(const Prepared& prepared, MatrixView<BFloat16> y, const E& executor = {}) const noexcept {
    multiply(prepared, y, executor);
  }
  template <Executor E = InlineExecutor>
  void run(const Prepared& prepared, MatrixView<Float16> y, const E& executor = {}) const noexcept {
    multiply(prepared, y, executor);
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
    explain(kernels_, cpu_, m, forced_, plan);
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
    bool is_static;
    std::span<const KernelEntry> kernels;
  };
  template <class Format, class Activations, class Isas>
  struct Operations;
  template <class Format, class... Activations, class Isas>
  struct Operations<Format, ActivationList<Activations...>, Isas> {
    static constexpr FormatOperations format{
        &Format::name,
        [](const PackedWeight& w, std::size_t n, float* out) noexcept { w.unpack_row<Format>(n, out); }};
    static constexpr std::array<Variant, sizeof...(Activations)> variants{
        Variant{Activations::name, Activations::numerics, Activations::is_static,
                KernelTable<Format, Activations, Isas>::entries}...};
    static constexpr bool needs_column_sums = (Activations::has_zero || ...);
  };

  AnyLinear(PackedWeight weight, CpuFeatures cpu, const FormatOperations* format,
            std::span<const Variant> variants)
      : weight_(std::move(weight)), cpu_(cpu), format_(format), variants_(variants) {
    use(variants_.front());
  }
  void use(const Variant& variant) noexcept {
    variant_ = &variant;
    kernels_ = variant.kernels;
    forced_ = false;
  }
  Result<AnyLinear> checked() && {
    if (select_kernel(kernels_, cpu_, 1, forced_) == nullptr)
      return Error{ErrorCode::unsupported, "edgeq: no kernel runs here: " + plan(1).to_string()};
    return std::move(*this);
  }
  const PanelGeometry& geometry() const noexcept { return weight_.geometry(); }
  const KernelEntry& select(std::size_t m) const noexcept {
    return *select_kernel(kernels_, cpu_, m, forced_);
  }

  template <StoredFloat T, Executor E>
  Status prepare_rows(Prepared& prepared, MatrixView<const T> x, const E& executor) const {
    // Kernels take the bytes of words apart in that order.
    if (std::endian::native != std::endian::little)
      return Error{ErrorCode::unsupported, "edgeq: layers multiply on little-endian machines only"};
    if (x.columns != k())
      return Error{ErrorCode::invalid_argument,
                   "edgeq: x has " + std::to_string(x.columns) + " columns, K is " + std::to_string(k())};
    if (variant_->is_static && !range_.valid())
      return Error{ErrorCode::invalid_argument,
                   "edgeq: the layer's activations are static, and it has no range (see with_range)"};
    const KernelEntry& kernel = select(x.rows);
    const PreparedLayout layout = kernel.layout(geometry());
    const std::size_t tasks = std::min<std::size_t>(x.rows, std::max<std::size_t>(executor.concurrency(), 1));
    const std::size_t ordered_bytes = weight_.order().size() * sizeof(T);
    if (!prepared.resize(x.rows, layout) || !prepared.resize_scratch(tasks, ordered_bytes))
      return Error{ErrorCode::too_large, "edgeq: no memory for " + std::to_string(x.rows) + " prepared rows"};
    if (x.rows == 0) return success();
    executor.run(tasks, [&](std::size_t task) {
      const FloatControl control;
      const std::size_t begin = x.rows * task / tasks, end = x.rows * (task + 1) / tasks;
      if (ordered_bytes == 0)
        return kernel.prepare({&geometry(), layout, x.data, float_type<T>, x.stride, range_, prepared.data(),
                               begin, end, x.rows});
      auto* ordered = reinterpret_cast<T*>(prepared.scratch() + task * ordered_bytes);
      for (std::size_t m = begin; m < end; ++m) {
        put_in_order(x.data + m * x.stride, ordered);
        kernel.prepare(
            {&geometry(), layout, ordered, float_type<T>, 0, range_, prepared.data(), m, m + 1, x.rows});
      }
    });
    return success();
  }
  /// A row of x as the packed order has it, with zeros where no column stands.
  template <StoredFloat T>
  void put_in_order(const T* x, T* ordered) const noexcept {
    const std::span<const std::uint32_t> order = weight_.order();
    if (order.size() == k())
      for (std::size_t i = 0; i < order.size(); ++i) ordered[i] = x[order[i]];
    else
      for (std::size_t i = 0; i < order.size(); ++i) ordered[i] = order[i] == no_column ? T{} : x[order[i]];
  }

  template <StoredFloat T, Executor E>
  void multiply(const Prepared& prepared, MatrixView<T> y, const E& executor) const noexcept {
    assert(y.columns == n() && y.rows == prepared.rows());
    if (y.rows == 0 || n() == 0) return;
    const KernelEntry& kernel = select(y.rows);
    const PreparedLayout layout = kernel.layout(geometry());
    const std::size_t panels = geometry().panels,
                      tasks = std::min<std::size_t>(panels, std::max<std::size_t>(executor.concurrency(), 1));
    executor.run(tasks, [&](std::size_t task) {
      const FloatControl control;
      kernel.gemm({&geometry(), layout, weight_.panels(), weight_.bias(), weight_.column_sums(),
                   prepared.data(), y.data, float_type<T>, y.stride, y.rows, panels * task / tasks,
                   panels * (task + 1) / tasks});
    });
  }

  PackedWeight weight_;
  CpuFeatures cpu_;
  const FormatOperations* format_;
  std::span<const Variant> variants_;
  const Variant* variant_ = nullptr;
  std::span<const KernelEntry> kernels_;
  bool forced_ = false;  ///< kernels_ is one kernel, to run whatever M is
  ActivationRange range_;
};

}
