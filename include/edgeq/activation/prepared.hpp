// SPDX-License-Identifier: Apache-2.0
// Activations in the form kernels read: quantized, padded per group, with the sums that fold zero points
// away.
#pragma once
#include "edgeq/activation/activation.hpp"
#include "edgeq/layout/aligned_buffer.hpp"
#include "edgeq/layout/panel.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Where the parts of one prepared row lie, in a buffer of `row_bytes` per row.
///
/// Elements first: `planes` planes of x_columns elements each (int8 codes; high, then low bytes of 16-bit
/// codes; or floats). Then the sum of codes of every accumulation block [blocks] int32, then the scales [1 or
/// groups] f32.
struct PreparedLayout {
  std::size_t plane_bytes = 0;
  std::size_t sums_offset = 0;
  std::size_t scales_offset = 0;
  std::size_t row_bytes = 0;

  template <ActivationPolicy A>
  static constexpr PreparedLayout of(const PanelGeometry& g) noexcept {
    PreparedLayout p;
    p.plane_bytes = g.x_columns * (A::element_bytes / A::planes);
    p.sums_offset = round_up(p.plane_bytes * A::planes, alignof(std::int32_t));
    p.scales_offset = p.sums_offset + (A::is_integer ? g.blocks * sizeof(std::int32_t) : 0);
    const std::size_t scales = !A::is_integer ? 0 : A::per_group ? g.groups : 1;
    p.row_bytes = round_up(p.scales_offset + scales * sizeof(float), line_bytes);
    return p;
  }
};

/// A reusable workspace that holds prepared activations. Filling it allocates only when it must grow, so a
/// decoder that reserves once never allocates again. Layers for which `shares_activations_with` holds, and
/// whose activation and ISA are the same, may run on one Prepared.
class Prepared {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::byte* data() noexcept { return buffer_.data(); }
  const std::byte* data() const noexcept { return buffer_.data(); }

  /// Room for `rows` rows of `row_bytes`. Old contents are lost. False if memory ran out.
  bool resize(std::size_t rows, std::size_t row_bytes) {
    if (row_bytes != 0 && rows > SIZE_MAX / row_bytes) return false;
    const std::size_t needed = rows * row_bytes;
    if (needed > buffer_.size()) buffer_ = AlignedBuffer(needed);
    rows_ = rows;
    return needed <= buffer_.size();
  }

 private:
  AlignedBuffer buffer_;
  std::size_t rows_ = 0;
};

}
