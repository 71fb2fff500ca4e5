// SPDX-License-Identifier: Apache-2.0
// The contract between the portable half of the library and the kernels: pointers in, pointers out.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "edgeq/activation/prepared.hpp"
#include "edgeq/layout/panel.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Rows row_begin .. row_end - 1 of x on their way into prepared form.
struct PrepareArguments {
  const PanelGeometry* geometry;
  PreparedLayout layout;
  const void* x;  ///< [M, K] of x_type
  FloatType x_type;
  std::size_t x_stride;   ///< elements
  ActivationRange range;  ///< of static activations
  std::byte* prepared;    ///< [M] rows of layout.row_bytes
  std::size_t row_begin, row_end;
  std::size_t m;  ///< rows of x in all
};

/// Output columns 16 * panel_begin .. 16 * panel_end - 1 of y, for all M rows.
struct GemmArguments {
  const PanelGeometry* geometry;
  PreparedLayout layout;
  const std::uint8_t* panels;
  const float* bias;          ///< [N padded to 16], or null
  const float* column_sums;   ///< sum over k of W [N padded to 16], for activations with a zero point
  const std::byte* prepared;  ///< [M] rows of layout.row_bytes
  void* y;                    ///< [M, N] of y_type
  FloatType y_type;
  std::size_t y_stride;  ///< elements
  std::size_t m;
  std::size_t panel_begin, panel_end;
};

using PrepareFunction = void (*)(const PrepareArguments&) noexcept;
using GemmFunction = void (*)(const GemmArguments&) noexcept;

/// Specialised once for every combination that exists: nothing is registered. A specialisation offers
///   static constexpr std::size_t min_m            rows from which it is worth choosing
///   static PreparedLayout layout(const PanelGeometry&)   the form of x that it reads
///   static constexpr PrepareFunction prepare      brings x into that form; kernels of one form name one
///                                                 function, which is how layers know that they can share x
///   static void gemm(const GemmArguments&) noexcept
template <class Format, class Activation, class Isa>
struct MicroKernel;

/// A combination that somebody specialised.
template <class K>
concept Kernel = requires(const PrepareArguments& p, const GemmArguments& g, const PanelGeometry& geometry) {
  { K::min_m } -> std::convertible_to<std::size_t>;
  { K::layout(geometry) }
  noexcept->std::same_as<PreparedLayout>;
  { K::prepare(p) }
  noexcept;
  { K::gemm(g) }
  noexcept;
};

}
