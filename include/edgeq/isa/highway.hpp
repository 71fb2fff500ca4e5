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

constexpr edgeq_highway::Stored stored_as(FloatType type) noexcept {
  return type == FloatType::f32   ? edgeq_highway::Stored::f32
         : type == FloatType::f16 ? edgeq_highway::Stored::f16
                                  : edgeq_highway::Stored::bf16;
}

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

/// 8-bit floats with scales in f32.
template <class Format>
concept ScaledFormat = !Format::is_integer && Format::header_bytes != 0 && requires {
  typename Format::Codec;
}
&&(std::same_as<typename Format::Codec, codec::FloatByte<Float8E4M3>> ||
   std::same_as<typename Format::Codec, codec::FloatByte<Float8E5M2>>);

template <class Format, class Activation>
concept HasKernel = CodedFormat<Format> ||
    (!Activation::is_integer && (FloatFormat<Format> || ScaledFormat<Format>));

template <class Format>
constexpr edgeq_highway::Weights describe(const PanelGeometry& g, const std::uint8_t* panels) noexcept {
  edgeq_highway::Weights w{};
  if constexpr (CodedFormat<Format>) {
    using Offset = typename Format::Offset;
    w.element = Format::Codec::bits == 4 ? edgeq_highway::Stored::nibble : edgeq_highway::Stored::byte;
    w.scale = stored_as(float_type<typename Format::Scale>);
    w.offset = Offset::has_minima  ? edgeq_highway::Offset::float_minimum
               : Offset::has_zeros ? edgeq_highway::Offset::integer_zero
                                   : edgeq_highway::Offset::symmetric;
    w.midpoint = Format::Codec::midpoint;
    w.minima_offset = Format::minima_offset;
    w.zeros_offset = Format::zeros_offset;
  } else if constexpr (ScaledFormat<Format>) {
    w.element = Format::Element::has_infinities ? edgeq_highway::Stored::e5m2 : edgeq_highway::Stored::e4m3;
    w.scale = edgeq_highway::Stored::f32;
    w.offset = edgeq_highway::Offset::symmetric;
  } else {
    w.element = stored_as(float_type<typename Format::Element>);
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
          Activation::per_group,
          Activation::has_zero};
}

}

namespace highway {

/// Highway quantizes rows of floats by the common rules; what else there is, the generic skeleton prepares.
template <class Activation>
void prepare(const PrepareArguments& p) noexcept {
  if constexpr (!Activation::is_integer)
    generic::copy_rows<Activation>(p);
  else if (Activation::has_zero || p.x_type != FloatType::f32)
    generic::quantize_rows<Activation>(p);
  else
    edgeq_highway::quantize({describe(*p.geometry), describe<Activation>(p.layout),
                             static_cast<const float*>(p.x), p.x_stride, p.prepared, p.row_begin, p.row_end});
}

}

template <class Format, ActivationPolicy Activation>
requires(highway::HasKernel<Format, Activation>) struct MicroKernel<Format, Activation, isa::highway> {
  static constexpr std::size_t min_m = 1;

  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    if constexpr (Activation::is_integer)
      return PreparedLayout::of_codes<Activation>(geometry);
    else
      return PreparedLayout::of_floats(geometry);
  }
  static constexpr PrepareFunction prepare = &highway::prepare<Activation>;
  static void gemm(const GemmArguments& g) noexcept {
    edgeq_highway::multiply({highway::describe(*g.geometry), highway::describe<Format>(*g.geometry, g.panels),
                             highway::describe<Activation>(g.layout), g.prepared, g.bias, g.column_sums, g.y,
                             highway::stored_as(g.y_type), g.y_stride, g.m, g.geometry->n, g.panel_begin,
                             g.panel_end});
  }
};

}
#endif
