// SPDX-License-Identifier: Apache-2.0
// What integer and float kernels have in common: the walk over panels, groups and blocks. Included once for
// each target.
//
// A tile is RowCount rows of x times StreamCount panels, a block (at most 512 k of one group) at a time, one
// vector of columns after the other. Sums stay in registers for a block and in `out` between blocks. Vectors
// of scalable targets can be neither elements of arrays nor members, so a tile's accumulators are a pack of
// function parameters: number i belongs to row i % RowCount and panel i / RowCount.

/// One block of a tile, as its inner loops see it.
template <std::size_t RowCount, std::size_t StreamCount>
struct Block {
  const std::uint8_t* line[StreamCount];  // the block's first line, of each panel
  const std::byte* x[RowCount];           // its first element of x, of each row
  std::size_t lines, plane_bytes;
  std::int32_t x_sum[RowCount];
  float x_scale[RowCount];  // of the group; meaningful if per_group
  bool per_group, has_minima;
  // A row of 16 columns is a cache line.
  alignas(64) float scale[StreamCount][edgeq::panel_columns];
  float offset[StreamCount][edgeq::panel_columns];       // the minimum, or the zero
  std::int32_t zero[StreamCount][edgeq::panel_columns];  // as an integer; beside a minimum, the midpoint
  const std::uint8_t* values;                            // a codebook's, or null
  const float* floats;
  float midpoint;
  float out[StreamCount * RowCount][edgeq::panel_columns];
};

/// Scales and offsets of the group whose header is number `index` of those at `headers`, as floats.
HWY_INLINE void load_header(const Weights& w, const std::uint8_t* headers, std::size_t index, float* scale,
                            float* offset, std::int32_t* integer_zero) {
  if (w.header_bytes == 0) return;
  const std::uint8_t* header = headers + index * w.header_bytes;
  if (w.expand != nullptr)
    w.expand(headers, index, scale, offset);
  else
    convert_columns(w.scale, header, scale);
  const FloatTag d;
  if (w.offset == Offset::float_minimum) {
    if (w.expand == nullptr) convert_columns(w.scale, header + w.minima_offset, offset);
    for (std::size_t i = 0; i < edgeq::panel_columns; i += hn::Lanes(d))
      hn::StoreU(hn::Set(IntTag(), w.midpoint), IntTag(), integer_zero + i);
    return;
  }
  const hn::Rebind<std::uint8_t, IntTag> narrow;
  for (std::size_t i = 0; i < edgeq::panel_columns; i += hn::Lanes(d)) {
    const Int zero = w.offset == Offset::symmetric
                         ? hn::Set(IntTag(), w.midpoint)
                         : hn::PromoteTo(IntTag(), hn::LoadU(narrow, header + w.zeros_offset + i));
    hn::StoreU(hn::ConvertTo(d, zero), d, offset + i);
    hn::StoreU(zero, IntTag(), integer_zero + i);
  }
}

/// 16 floats as elements of y of a type.
template <class T>
void store_columns(const float* from, T* to, std::size_t columns) {
  T values[edgeq::panel_columns];
  for (std::size_t i = 0; i < edgeq::panel_columns; ++i) values[i] = edgeq::from_float<T>(from[i]);
  std::memcpy(to, values, columns * sizeof(T));
}

/// y of one row m and panel: out * x_scale + bias, one rounding; or out + bias where scales have been
/// applied.
HWY_INLINE void finish_columns(const Multiplication& a, const std::byte* row, const float* out, std::size_t m,
                               std::size_t column) {
  const FloatTag d;
  const bool scaled = a.rows.planes != 0 && !a.rows.per_group;
  const auto* scales = reinterpret_cast<const float*>(row + a.rows.scales_offset);
  const Float factor = hn::Set(d, scaled ? scales[0] : 1.0f);
  const std::size_t columns = a.n - column < edgeq::panel_columns ? a.n - column : edgeq::panel_columns;
  const std::size_t element = m * a.y_stride + column;
  const bool direct = a.y_type == Stored::f32 && columns == edgeq::panel_columns;
  alignas(64) float partial[edgeq::panel_columns];
  float* to = direct ? static_cast<float*>(a.y) + element : partial;
  for (std::size_t i = 0; i < edgeq::panel_columns; i += hn::Lanes(d)) {
    Float value = hn::LoadU(d, out + i);
    if (a.rows.has_zero)
      value = fused_multiply_add(hn::Set(d, -scales[1]), hn::LoadU(d, a.column_sums + column + i), value);
    if (a.bias == nullptr)
      value = scaled ? hn::Mul(value, factor) : value;
    else {
      const Float bias = hn::LoadU(d, a.bias + column + i);
      value = scaled ? fused_multiply_add(value, factor, bias) : hn::Add(value, bias);
    }
    hn::StoreU(value, d, to + i);
  }
  if (direct) return;
  if (a.y_type == Stored::f32)
    store_columns(partial, static_cast<float*>(a.y) + element, columns);
  else if (a.y_type == Stored::bf16)
    store_columns(partial, static_cast<edgeq::BFloat16*>(a.y) + element, columns);
  else
    store_columns(partial, static_cast<edgeq::Float16*>(a.y) + element, columns);
}

/// Rows row .. row + rows - 1 times the panels. The last row is repeated if the tile is taller: it stores the
/// same values again.
template <class Kernel, std::size_t RowCount, std::size_t StreamCount>
void run_tile(const Multiplication& a, const std::size_t (&panel)[StreamCount], std::size_t row,
              std::size_t rows) {
  const Groups& groups = a.groups;
  const Weights& w = a.weights;
  const std::byte* x[RowCount];
  std::size_t y_row[RowCount];
  for (std::size_t m = 0; m < RowCount; ++m) {
    y_row[m] = row + (m < rows ? m : rows - 1);
    x[m] = a.prepared + y_row[m] * a.rows.row_bytes;
  }
  Block<RowCount, StreamCount> b;
  b.plane_bytes = a.rows.plane_bytes;
  b.per_group = a.rows.per_group;
  b.has_minima = w.header_bytes != 0 && w.offset == Offset::float_minimum;
  b.values = w.values;
  b.floats = w.floats;
  b.midpoint = static_cast<float>(w.midpoint);
  std::memset(b.out, 0, sizeof(b.out));

  std::size_t block = 0;
  for (std::size_t g = 0; g < groups.groups; ++g) {
    const std::size_t record = g / w.groups_per_record * w.record_bytes, place = g % w.groups_per_record;
    const std::size_t first_line = record + w.groups_per_record * w.header_bytes + place * w.lines_bytes;
    for (std::size_t s = 0; s < StreamCount; ++s)
      load_header(w, w.panels + panel[s] * w.panel_bytes + record, place, b.scale[s], b.offset[s], b.zero[s]);
    if (b.per_group)
      for (std::size_t m = 0; m < RowCount; ++m)
        b.x_scale[m] = reinterpret_cast<const float*>(x[m] + a.rows.scales_offset)[g];

    const std::size_t rest = groups.k - g * groups.group, length = rest < groups.group ? rest : groups.group;
    for (std::size_t k = 0; k < length; k += groups.accumulation_block) {
      const std::size_t left = length - k;
      const std::size_t count = left < groups.accumulation_block ? left : groups.accumulation_block;
      b.lines = (count - 1) / Kernel::k_per_line + 1;
      for (std::size_t s = 0; s < StreamCount; ++s)
        b.line[s] = w.panels + panel[s] * w.panel_bytes + first_line +
                    k / Kernel::k_per_line * Kernel::bytes_per_line;
      for (std::size_t m = 0; m < RowCount; ++m) {
        b.x[m] = x[m] + (g * groups.x_group + k) * Kernel::x_bytes;
        if (Kernel::is_integer)
          b.x_sum[m] = reinterpret_cast<const std::int32_t*>(x[m] + a.rows.sums_offset)[block];
      }
      for (std::size_t column = 0; column < edgeq::panel_columns; column += hn::Lanes(FloatTag()))
        Kernel::template multiply<RowCount>(b, column, std::make_index_sequence<RowCount * StreamCount>());
      ++block;
    }
  }
  for (std::size_t s = 0; s < StreamCount; ++s)
    for (std::size_t m = 0; m < RowCount; ++m)
      finish_columns(a, x[m], b.out[s * RowCount + m], y_row[m], panel[s] * edgeq::panel_columns);
}

/// Walks StreamCount far-apart parts of the range of panels side by side, as kernel/panel_walk.inl explains,
/// at most MaxRows rows of x at a time.
template <class Kernel, std::size_t MaxRows, std::size_t StreamCount>
void walk_panels(const Multiplication& a) {
  const std::size_t count = a.panel_end - a.panel_begin, longest = (count + StreamCount - 1) / StreamCount;
  const std::size_t tiles = (a.m + MaxRows - 1) / MaxRows;
  for (std::size_t i = 0; i < longest; ++i) {
    std::size_t panel[StreamCount];
    for (std::size_t s = 0; s < StreamCount; ++s) {
      const std::size_t begin = count * s / StreamCount, end = count * (s + 1) / StreamCount;
      const std::size_t last = end > begin ? end - 1 : begin;
      panel[s] = a.panel_begin + (begin + i < last ? begin + i : last);
    }
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t row = a.m * t / tiles, rows = a.m * (t + 1) / tiles - row;
      if constexpr (MaxRows == 4) {
        if (rows <= 2) {
          run_tile<Kernel, 2>(a, panel, row, rows);
          continue;
        }
      }
      run_tile<Kernel, MaxRows>(a, panel, row, rows);
    }
  }
}

/// One row has four streams; more rows go four or two at a time over two. Emulated vectors gain nothing from
/// tiles, which would cost the compiler a minute.
template <class Kernel>
void multiply_panels(const Multiplication& a) {
#if HWY_TARGET == HWY_EMU128
  walk_panels<Kernel, 1, 1>(a);
#else
  if (a.m == 1)
    walk_panels<Kernel, 1, 4>(a);
  else
    walk_panels<Kernel, 4, 2>(a);
#endif
}
