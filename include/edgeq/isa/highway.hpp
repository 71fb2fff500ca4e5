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

/// Formats of codes that stand for integers or name entries of a table.
template <class Format>
concept CodedFormat = requires {
  typename Format::Offset;
  typename Format::Codec;
}
&&(codec::IntegerCodec<typename Format::Codec> || codec::Codebook<typename Format::Codec>);

/// Headers that kernels.cc reads itself: 16 scales, then minima or zeros.
template <class Format>
concept PlainHeader = Format::Codec::unit == 1.0f && requires {
  requires StoredFloat<typename Format::Scale>;
};

/// Any other header, by the generic kernels' rules.
template <class Format>
void expand_header(const std::uint8_t* headers, std::size_t index, float* scales, float* minima) noexcept {
  using Header = generic::GroupHeader<Format>;
  generic::Simd::store_stored<float>(scales, Header::scale({headers, index}, 0));
  if constexpr (Format::Offset::has_minima)
    generic::Simd::store_stored<float>(minima, Header::minimum({headers, index}, 0));
}

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
concept HasKernel = (CodedFormat<Format> && (Format::is_integer || !Activation::is_integer)) ||
                    (!Activation::is_integer && (FloatFormat<Format> || ScaledFormat<Format>));

template <class Format>
constexpr edgeq_highway::Weights describe(const PanelGeometry& g, const std::uint8_t* panels) noexcept {
  edgeq_highway::Weights w{};
  if constexpr (CodedFormat<Format>) {
    using Codec = typename Format::Codec;
    using Offset = typename Format::Offset;
    w.element = Codec::bits == 4   ? edgeq_highway::Stored::nibble
                : Codec::bits == 6 ? edgeq_highway::Stored::six_bits
                                   : edgeq_highway::Stored::byte;
    if constexpr (codec::Codebook<Codec>) w.floats = Codec::floats.data();
    if constexpr (codec::Codebook<Codec> && codec::IntegerCodec<Codec>) w.values = Codec::values.data();
    if constexpr (PlainHeader<Format>) {
      w.scale = stored_as(float_type<typename Format::Scale>);
      w.minima_offset = Format::minima_offset;
      w.zeros_offset = Format::zeros_offset;
    } else {
      w.expand = &expand_header<Format>;
    }
    w.offset = Offset::has_minima  ? edgeq_highway::Offset::float_minimum
               : Offset::has_zeros ? edgeq_highway::Offset::integer_zero
                                   : edgeq_highway::Offset::symmetric;
    w.midpoint = Offset::has_minima && !Offset::from_midpoint ? 0 : Codec::midpoint;
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
