// SPDX-License-Identifier: Apache-2.0
// Activations in the form kernels read: quantized, padded per group, with the sums that fold zero points
// away.
#pragma once
#include "edgeq/activation/activation.hpp"
#include "edgeq/layout/aligned_buffer.hpp"
#include "edgeq/layout/panel.hpp"
#include "edgeq/number/stored_float.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Where the parts of one prepared row lie, in a buffer of `row_bytes` per row. A kernel reads one of four
/// forms, and `overrun` bytes of zeros behind each plane if it reads in larger steps than the padding's.
///
/// Elements first: `planes` planes of x_columns elements each. Then sums, then scales:
///
///   codes    int8 (16-bit codes as two planes: high, then low bytes); the sum of codes of every accumulation
///            block [blocks] int32; the scales [1 or groups] f32, followed by the zero point of the row, f32,
///            if there is one
///   floats   f32; nothing else
///   bf16     the order within 4 k belongs to the kernel; the sum of x of every group [groups] f32
///   tiles    codes of several rows interleaved, as row_tiles.hpp describes; the rest as in "codes"
struct PreparedLayout {
  std::size_t plane_bytes = 0;
  std::size_t sums_offset = 0;
  std::size_t scales_offset = 0;
  std::size_t row_bytes = 0;
  std::size_t row_multiple = 1;  ///< rows are allocated in such numbers
  std::size_t group_steps = 0;   ///< of the form "tiles": steps of k in every group

  static constexpr PreparedLayout of_parts(std::size_t plane_bytes, std::size_t planes, std::size_t sums,
                                           std::size_t scales) noexcept {
    PreparedLayout p;
    p.plane_bytes = plane_bytes;
    p.sums_offset = round_up(plane_bytes * planes, sizeof(std::int32_t));
    p.scales_offset = p.sums_offset + sums * sizeof(std::int32_t);
    p.row_bytes = round_up(p.scales_offset + scales * sizeof(float), line_bytes);
    return p;
  }
  template <ActivationPolicy A>
  static constexpr PreparedLayout of_codes(const PanelGeometry& g, std::size_t overrun = 0) noexcept {
    return of_parts(g.x_columns + overrun, A::planes, g.blocks,
                    A::per_group  ? g.groups
                    : A::has_zero ? 2
                                  : 1);
  }
  static constexpr PreparedLayout of_floats(const PanelGeometry& g) noexcept {
    return of_parts(g.x_columns * sizeof(float), 1, 0, 0);
  }
  static constexpr PreparedLayout of_bf16(const PanelGeometry& g, std::size_t overrun = 0) noexcept {
    return of_parts(g.x_columns * sizeof(BFloat16) + overrun, 1, g.groups, 0);
  }

  friend constexpr bool operator==(const PreparedLayout&, const PreparedLayout&) = default;
};

/// A reusable workspace that holds prepared activations. Filling it allocates only when it must grow, so a
/// decoder that reserves once never allocates again. Layers for which `shares_activations_with` holds, and
/// whose activation and ISA are the same, may run on one Prepared.
class Prepared {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::byte* data() noexcept { return buffer_.data(); }
  const std::byte* data() const noexcept { return buffer_.data(); }

  /// Room for `rows` rows of a layout. Old contents are lost. False if memory ran out.
  bool resize(std::size_t rows, const PreparedLayout& layout) {
    rows_ = rows;
    return rows <= SIZE_MAX - layout.row_multiple &&
           grow(buffer_, round_up(rows, layout.row_multiple), layout.row_bytes);
  }

  /// The same for rows that are only needed while x is prepared.
  bool resize_scratch(std::size_t rows, std::size_t row_bytes) { return grow(scratch_, rows, row_bytes); }
  std::byte* scratch() noexcept { return scratch_.data(); }

 private:
  static bool grow(AlignedBuffer& buffer, std::size_t rows, std::size_t row_bytes) {
    if (row_bytes != 0 && rows > SIZE_MAX / row_bytes) return false;
    if (rows * row_bytes > buffer.size()) buffer = AlignedBuffer(rows * row_bytes);
    return rows * row_bytes <= buffer.size();
  }

  AlignedBuffer buffer_, scratch_;
  std::size_t rows_ = 0;
};

}
