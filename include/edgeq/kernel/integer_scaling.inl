// SPDX-License-Identifier: Apache-2.0
// What every integer kernel does around its dot products: where a sum starts, how it is scaled, how y ends.
// Included once inside each ISA's region.
//
// The numerics contract, to the bit: an accumulation block's sum of (code - zero) * x is exact in int32;
// blocks in ascending k: out = fma(float(sum), scale, out), then with a minimum out = fma(float(sum of x),
// minimum, out). With a zero point of x: out = fma(-zero of x, sum of the column's weights, out). At last
// y = fma(out, activation scale, bias), or out * activation scale. Per-group activation scales are multiplied
// onto scale and minimum first, and y = out + bias.

template <class Format, class Activation>
struct IntegerScaling {
  using Codec = typename Format::Codec;
  using Offset = typename Format::Offset;
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;

  /// A prepared row of codes.
  struct Row {
    const std::byte* data;
    const std::int32_t* sums;
    const float* scales;
    std::int32_t sum(std::size_t block) const noexcept { return sums[block]; }
    /// The sum of a block's codes, and the scale that multiplies group g's own, in every lane.
    EDGEQ_INLINE Float sum_of_x(std::size_t block) const noexcept {
      return Simd::set1(static_cast<float>(sums[block]));
    }
    EDGEQ_INLINE Float group_scale(std::size_t g) const noexcept { return Simd::set1(scales[g]); }
  };
  static EDGEQ_INLINE Row row(const GemmArguments& g, std::size_t m) noexcept {
    const std::byte* data = g.prepared + m * g.layout.row_bytes;
    return {data, reinterpret_cast<const std::int32_t*>(data + g.layout.sums_offset),
            reinterpret_cast<const float*>(data + g.layout.scales_offset)};
  }

  /// What the dot products take from each value.
  static constexpr int subtracted = Simd::template subtracted<Codec::largest_value>;

  /// The value an accumulator starts at, so that the zero point costs nothing in the loop.
  static EDGEQ_INLINE Int start(const HeaderPlace& header, std::size_t column, std::int32_t sum) noexcept {
    if constexpr (Offset::has_zeros) {
      const Int zeros = Simd::multiply(GroupHeader<Format>::zero(header, column), Simd::set1(-sum));
      return subtracted == 0 ? zeros : Simd::add(zeros, Simd::set1(subtracted * sum));
    } else {
      return Simd::set1((subtracted - (Offset::from_midpoint ? Codec::midpoint : 0)) * sum);
    }
  }

  /// Scales and minima of a register of columns.
  struct Header {
    Float scale, minimum;
  };
  static EDGEQ_INLINE Header load_header(const HeaderPlace& place, std::size_t column) noexcept {
    Header header;  // an implicit constructor would not belong to the region: no initializers
    header.scale = header.minimum = GroupHeader<Format>::scale(place, column);
    if constexpr (Offset::has_minima) header.minimum = GroupHeader<Format>::minimum(place, column);
    return header;
  }

  /// Adds a block's sum to out; `high` is the sum of the upper plane where there are two. `row` answers as
  /// Row does, for the row of each lane.
  template <class Rows>
  static EDGEQ_INLINE void add_block(Float& out, Int high, Int low, const Header& header, const Rows& row,
                                     std::size_t group, std::size_t block) noexcept {
    Int sum = low;
    if constexpr (Activation::planes == 2) sum = Simd::add(Simd::template shift_left<8>(high), low);
    Float scale = header.scale;
    if constexpr (Activation::per_group) scale = Simd::multiply(scale, row.group_scale(group));
    out = Simd::fma(Simd::to_float(sum), scale, out);
    if constexpr (Offset::has_minima) {
      Float minimum = header.minimum;
      if constexpr (Activation::per_group) minimum = Simd::multiply(minimum, row.group_scale(group));
      out = Simd::fma(row.sum_of_x(block), minimum, out);
    }
  }

  /// y of a register of columns.
  static EDGEQ_INLINE Float finish(Float out, const GemmArguments& g, const Row& row,
                                   std::size_t column) noexcept {
    if constexpr (Activation::per_group) {
      return with_bias(out, g, column);
    } else {
      if constexpr (Activation::has_zero)
        out = Simd::fma(Simd::set1(-row.scales[1]), Simd::template load_stored<float>(g.column_sums + column),
                        out);
      const Float factor = Simd::set1(row.scales[0]);
      return g.bias == nullptr ? Simd::multiply(out, factor)
                               : Simd::fma(out, factor, Simd::template load_stored<float>(g.bias + column));
    }
  }
};
