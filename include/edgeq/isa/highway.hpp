// SPDX-License-Identifier: Apache-2.0
// Kernels on Google Highway, for machines that edgeq has no kernel of its own for. They exist in programs
// that link the component edgeq::highway, which defines EDGEQ_HAS_HIGHWAY.
#pragma once
#if defined(EDGEQ_HAS_HIGHWAY)
#include "edgeq/highway/kernels.hpp"
#include "edgeq/isa.hpp"
#include "edgeq/isa/generic.hpp"
#include "edgeq/kernel/micro_kernel.hpp"

namespace edgeq::inline EDGEQ_BASELINE {
namespace highway {

template <StoredFloat T>
inline constexpr edgeq_highway::Stored stored_as = std::is_same_v<T, float>     ? edgeq_highway::Stored::f32
                                                   : std::is_same_v<T, Float16> ? edgeq_highway::Stored::f16
                                                                                : edgeq_highway::Stored::bf16;

/// Integer formats of the two codecs that kernels.cc knows.
template <class Format>
concept CodedFormat = Format::is_integer && requires {
  typename Format::Offset;
  typename Format::Scale;
} &&(std::same_as<typename Format::Codec, codec::Nibble> ||
     std::same_as<typename Format::Codec, codec::Byte>);

/// Unquantized weights.
template <class Format>
concept FloatFormat = !Format::is_integer && Format::header_bytes == 0 && requires {
  typename Format::Element;
};

template <class Format>
constexpr edgeq_highway::Weights describe(const PanelGeometry& g, const std::uint8_t* panels) noexcept {
  edgeq_highway::Weights w{};
  if constexpr (CodedFormat<Format>) {
    using Offset = typename Format::Offset;
    w.element = Format::Codec::bits == 4 ? edgeq_highway::Stored::nibble : edgeq_highway::Stored::byte;
    w.scale = stored_as<typename Format::Scale>;
    w.offset = Offset::has_minima  ? edgeq_highway::Offset::float_minimum
               : Offset::has_zeros ? edgeq_highway::Offset::integer_zero
                                   : edgeq_highway::Offset::symmetric;
    w.midpoint = Format::Codec::midpoint;
    w.minima_offset = Format::minima_offset;
    w.zeros_offset = Format::zeros_offset;
  } else {
    w.element = stored_as<typename Format::Element>;
  }
  w.header_bytes = g.header_bytes;
  w.groups_per_record = g.groups_per_record;
  w.lines_bytes = g.lines_bytes;
  w.record_bytes = g.record_bytes;
  w.panel_bytes = g.panel_bytes;
  w.panels = panels;
  return w;
}

constexpr edgeq_highway::Groups describe(const PanelGeometry& g) noexcept {
  return {g.k, g.group, g.groups, g.accumulation_block, g.x_group};
}

template <class Activation>
constexpr edgeq_highway::Rows describe(const PreparedLayout& p) noexcept {
  return {p.row_bytes,
          p.plane_bytes,
          p.sums_offset,
          p.scales_offset,
          Activation::is_integer ? static_cast<int>(Activation::planes) : 0,
          Activation::per_group};
}

}

template <class Format, ActivationPolicy Activation>
requires(highway::CodedFormat<Format> || (highway::FloatFormat<Format> && !Activation::is_integer))  //
    struct MicroKernel<Format, Activation, isa::highway> {
  static constexpr std::size_t min_m = 1;

  static void prepare(const PrepareArguments& p) noexcept {
    if constexpr (Activation::is_integer)
      edgeq_highway::quantize({highway::describe(*p.geometry), highway::describe<Activation>(p.layout), p.x,
                               p.x_stride, p.prepared, p.row_begin, p.row_end});
    else
      generic::copy_rows(p);
  }
  static void gemm(const GemmArguments& g) noexcept {
    edgeq_highway::multiply({highway::describe(*g.geometry), highway::describe<Format>(*g.geometry, g.panels),
                             highway::describe<Activation>(g.layout), g.prepared, g.bias, g.y, g.y_stride,
                             g.m, g.geometry->n, g.panel_begin, g.panel_end});
  }
};

}
#endif
