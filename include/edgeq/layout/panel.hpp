// SPDX-License-Identifier: Apache-2.0
// The geometry of packed weights: where a panel, a group and an accumulation block begin. Every kernel, on
// every ISA, for every M and activation, reads this one layout.
#pragma once
#include <algorithm>
#include <cstddef>

#include "edgeq/format/weight_format.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}
constexpr std::size_t divide_up(std::size_t value, std::size_t step) noexcept {
  return value == 0 ? 0 : (value - 1) / step + 1;
}

/// Packed weights are panels of 16 output columns; N is padded to 16 with columns whose scale is 0. A panel
/// is a sequence of records. A record holds as many groups as give headers of whole cache lines (two, for
/// scales of 16 bits): first the groups' headers, the 16 columns' scales (minima, zeros), then the groups'
/// lines of codes. So a kernel at decode reads one stream, and every line is a cache line (headers
/// between the lines cost it 3 %). A group that does not fill its last line is padded with codes that meet
/// zeros in x.
///
/// Activations are padded the same way: each group of x starts at a multiple of 8, or of the k in a line
/// where these are more, so that layers of one K and group share prepared activations.
///
/// K counts positions of a packed row: more than the columns of x where an order leaves some empty.
struct PanelGeometry {
  std::size_t n = 0, k = 0;
  std::size_t group = 1;  ///< k that share a scale; the last group may be shorter
  std::size_t groups = 0;
  std::size_t k_per_line = 1;
  std::size_t header_bytes = 0;  ///< of one group
  std::size_t accumulation_block = 1;

  std::size_t groups_per_record = 1;
  std::size_t lines_bytes = 0;   ///< of one group, the header left out
  std::size_t record_bytes = 0;  ///< from one record to the next
  std::size_t panel_bytes = 0;   ///< from one panel to the next
  std::size_t panels = 0;
  std::size_t x_group = 0;    ///< elements from one group of prepared x to the next
  std::size_t x_columns = 0;  ///< elements of a prepared row of x
  std::size_t blocks_per_group = 0;
  std::size_t blocks = 0;  ///< accumulation blocks in K, each with its own sum of codes of x

  std::size_t x_step = 8;  ///< elements of x to a multiple of which every group is padded

  /// The address space bounds N and K, and the bytes of packed weights, to these powers of 2.
  static constexpr int extent_bits = sizeof(std::size_t) > 4 ? 40 : 22;
  static constexpr int size_bits = sizeof(std::size_t) > 4 ? 47 : 31;

  constexpr std::size_t group_length(std::size_t g) const noexcept { return std::min(group, k - g * group); }
  /// Where the headers of group g's record and its own lines lie in a panel. Kernels pass what their format
  /// knows at compile time.
  constexpr std::size_t headers_offset(std::size_t g, std::size_t per_record) const noexcept {
    return g / per_record * record_bytes;
  }
  constexpr std::size_t lines_offset(std::size_t g, std::size_t per_record,
                                     std::size_t header) const noexcept {
    return g / per_record * record_bytes + per_record * header + g % per_record * lines_bytes;
  }
  constexpr std::size_t headers_offset(std::size_t g) const noexcept {
    return headers_offset(g, groups_per_record);
  }
  constexpr std::size_t lines_offset(std::size_t g) const noexcept {
    return lines_offset(g, groups_per_record, header_bytes);
  }
  constexpr std::size_t packed_bytes() const noexcept { return panels * panel_bytes; }

  /// The geometry of W [N, K] in format F, or why it cannot exist. Every product is checked.
  template <WeightFormat F>
  static Result<PanelGeometry> of(const WeightShape& shape) {
    PanelGeometry p;
    p.n = shape.n;
    p.k = shape.positions();
    p.group = shape.group;
    p.k_per_line = F::k_per_line;
    p.header_bytes = F::header_bytes;
    p.accumulation_block = F::accumulation_block;
    if (p.group == 0) return Error{ErrorCode::invalid_argument, "edgeq: the group size is 0"};
    if (F::group > 0 && p.group != static_cast<std::size_t>(F::group))
      return Error{ErrorCode::invalid_argument,
                   "edgeq: groups of " + std::to_string(p.group) + " k cannot be packed as " + F::name()};
    constexpr std::size_t limit = std::size_t{1} << extent_bits;
    if (p.n > limit || p.k > limit)
      return Error{ErrorCode::too_large, "edgeq: N = " + std::to_string(p.n) +
                                             ", K = " + std::to_string(p.k) + " is beyond 2^" +
                                             std::to_string(extent_bits)};
    p.group = std::min(p.group, std::max<std::size_t>(p.k, 1));
    p.groups = divide_up(p.k, p.group);
    p.panels = divide_up(p.n, panel_columns);
    p.groups_per_record = F::groups_per_record;
    p.lines_bytes = divide_up(p.group, p.k_per_line) * F::bytes_per_line;
    p.record_bytes = p.groups_per_record * (p.header_bytes + p.lines_bytes);
    const std::size_t last = p.groups == 0 ? 0 : p.group_length(p.groups - 1);
    // divide_up(group, k_per_line) * groups < 2 * 2^40 lines of 192 bytes: below 2^49, no wrap. Nor with 32
    // bits: a k takes at most 144 bytes of a header and 64 of a line, 2^22 of them less than 2^30.
    p.panel_bytes =
        p.groups == 0 ? 0 : p.lines_offset(p.groups - 1) + divide_up(last, p.k_per_line) * F::bytes_per_line;
    p.x_step = std::max<std::size_t>(8, F::k_per_line);
    p.x_group = round_up(p.group, p.x_step);
    p.x_columns = p.groups == 0 ? 0 : (p.groups - 1) * p.x_group + round_up(last, p.x_step);
    p.blocks_per_group = divide_up(p.group, p.accumulation_block);
    p.blocks =
        p.groups == 0 ? 0 : (p.groups - 1) * p.blocks_per_group + divide_up(last, p.accumulation_block);
    if (p.panel_bytes != 0 && p.panels > (std::size_t{1} << size_bits) / p.panel_bytes)
      return Error{ErrorCode::too_large, "edgeq: packed weights of N = " + std::to_string(p.n) +
                                             ", K = " + std::to_string(p.k) + " exceed 2^" +
                                             std::to_string(size_bits) + " bytes"};
    return p;
  }

  /// Whether activations prepared for the other geometry are laid out right for this one.
  constexpr bool shares_activations_with(const PanelGeometry& other) const noexcept {
    return k == other.k && group == other.group && x_step == other.x_step &&
           accumulation_block == other.accumulation_block;
  }
};

}
