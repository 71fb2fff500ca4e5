// SPDX-License-Identifier: Apache-2.0
// Skeleton of integer kernels on registers of 128 bits: tiles of many rows by quads of columns, a quad being
// a quarter of a panel's line. Included inside an ISA's region, over its Simd and a Tile, what one step of k
// multiplies:
//
//   step_k, row_unit, parts      k of a step, rows that share a register, registers of a quad of a unit's
//   rows x_bytes                      what a unit of rows takes of x in a step, as store_x(to, row, codes)
//   left it rows_of(planes)              rows of the largest tile interleave(a, b)             puts the words
//   of k 0..3 and 8..11 (4..7 and 12..15) of a quad in the order of
//                                multiply, as codes or still as nibbles
//   multiply<Largest>(acc, values, x)    adds a step's products of a unit of rows and a quad
//   columns(a, part), rows(a, b) a value for every column, or for both rows of a unit, in a part's lanes
//   transpose(parts)             from parts to rows of four columns and back
//
// Many rows are multiplied chunk by chunk of K: the first tile of rows reads the panel and leaves scales and
// unpacked values in a scratch buffer, in the first-level cache, where the other tiles find them. Sums wait
// in a buffer of their own between chunks.

template <class FormatType, class Activation, class Tile>
struct QuadProduct {
  using Format = FormatType;
  using Codec = typename Format::Codec;
  using Offset = typename Format::Offset;
  using Scaling = IntegerScaling<Format, Activation>;
  using Header = typename Scaling::Header;
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;
  static constexpr std::size_t planes = Activation::planes, unit = Tile::row_unit, parts = Tile::parts,
                               words = Tile::step_k / 4, quads = panel_columns / Simd::lanes,
                               quad_bytes = Simd::lanes * 4, tile_rows = Tile::rows_of(planes);
  /// Lines of the packed panel in a step; and steps of a whole group where they are unrolled, or 0.
  static constexpr std::size_t lines_per_step = Tile::step_k / Format::k_per_line,
                               known_steps = divide_up(known_lines<Format>, lines_per_step) <= 8
                                                 ? divide_up(known_lines<Format>, lines_per_step)
                                                 : 0;
  static constexpr std::size_t step_bytes = lines_per_step * Format::bytes_per_line;
  /// Whether all groups of a record are unrolled: with distances that the compiler knows, two groups of 32
  /// cost eight instructions less than with pointers to header and lines.
  static constexpr bool is_unrolled =
      Format::groups_per_record <= 2 && known_steps * Format::groups_per_record <= 6;
  /// Accumulators start at this multiple of the sum of x, times (zero - subtracted) where there are zeros.
  static constexpr int fold =
      Offset::has_zeros ? -1 : Scaling::subtracted - (Offset::from_midpoint ? Codec::midpoint : 0);
  using Layout = RowTileLayout<Activation, Tile::step_k, Tile::x_bytes / unit, fold == 0 ? 0 : 16>;

  /// A record with the lines of a last group only, filled up with zeros to a whole group
  /// of whole steps: what is unrolled for whole groups reads it there.
  struct LastRecord {
    static constexpr std::size_t headers_bytes = Format::groups_per_record * Format::header_bytes,
                                 lines_bytes = known_steps * step_bytes;
    alignas(64) std::uint8_t record[headers_bytes + lines_bytes];

    static bool is_needed(const PanelGeometry& geometry) noexcept {
      return known_steps != 0 && geometry.groups != 0 && lines_of(geometry) != known_steps * lines_per_step;
    }
    static std::size_t lines_of(const PanelGeometry& geometry) noexcept {
      return divide_up(geometry.group_length(geometry.groups - 1), Format::k_per_line);
    }
    void copy(const PanelGeometry& geometry, const std::uint8_t* panel) noexcept {
      const std::size_t group = geometry.groups - 1, bytes = lines_of(geometry) * Format::bytes_per_line;
      __builtin_memset(record, 0, sizeof(record));
      const HeaderPlace place = header_place<Format>(panel, geometry, group);
      if constexpr (is_unrolled)
        __builtin_memcpy(record, place.headers + place.index * Format::header_bytes, Format::header_bytes);
      else
        __builtin_memcpy(record, place.headers, headers_bytes);
      __builtin_memcpy(record + headers_bytes, panel + lines_offset<Format>(geometry, group), bytes);
    }
  };

  /// At most so many steps of k in a chunk: 16 KiB of values.
  static constexpr std::size_t chunk_steps = 1024 / Tile::step_k;
  /// Rows that share a panel while it is in the cache.
  static constexpr std::size_t block_rows = 128 / tile_rows * tile_rows;
  struct Workspace {
    /// In the order of the parts, not of the rows.
    alignas(64) float sums[block_rows][panel_columns];
    /// For every block the values of its steps, then scales (and minima) of the quad's parts.
    Int scratch[quads][chunk_steps * (words + 2 * parts)];
    LastRecord last;
  };

  /// Accumulation blocks begin .. end - 1 of K; those from `direct` on are read from Workspace::last.
  struct Chunk {
    std::size_t begin, direct, end;
  };
  /// Where a tile finds values, and whether it leaves them for others.
  enum class Source { panel, panel_for_others, scratch };

  static EDGEQ_INLINE Float load_sums(const float* sums, std::size_t quad) noexcept {
    return Simd::template load_stored<float>(sums + quad * Simd::lanes);
  }
  static EDGEQ_INLINE void store_sums(float* sums, std::size_t quad, Float sum) noexcept {
    Simd::template store_stored<float>(sums + quad * Simd::lanes, sum);
  }
  static EDGEQ_INLINE typename Scaling::Row row_of(const GemmArguments& g, const RowTile& tile,
                                                   std::size_t row) noexcept {
    const PreparedLayout& layout = g.layout;
    const std::byte* behind = g.prepared + tile.first * layout.row_bytes + tile.rows * layout.plane_bytes +
                              row * (layout.row_bytes - layout.plane_bytes);
    return {behind, reinterpret_cast<const std::int32_t*>(behind + layout.sums_offset - layout.plane_bytes),
            reinterpret_cast<const float*>(behind + layout.scales_offset - layout.plane_bytes)};
  }
  /// A unit of rows, as add_block asks it.
  struct UnitOfRows {
    typename Scaling::Row row[unit];
    EDGEQ_INLINE Float sum_of_x(std::size_t block) const noexcept {
      return Tile::rows(static_cast<float>(row[0].sums[block]),
                        static_cast<float>(row[unit - 1].sums[block]));
    }
    EDGEQ_INLINE Float group_scale(std::size_t g) const noexcept {
      return Tile::rows(row[0].scales[g], row[unit - 1].scales[g]);
    }
  };

  /// A step of a quad in the order of multiply.
  static EDGEQ_INLINE void unpack_step(const std::uint8_t* line, Int (&values)[words]) noexcept {
    EDGEQ_FOR (i, words / 4) {
      Int four[4];
      if constexpr (Codec::bits == 4) {
        Int first = Simd::load_codes(line + 2 * i * line_bytes),
            second = Simd::load_codes(line + (2 * i + 1) * line_bytes);
        Tile::interleave(first, second);
        const Int mask = Simd::set1(0x0F0F0F0F);
        four[0] = Simd::bit_and(first, mask);
        four[1] = Simd::high_nibbles(first);
        four[2] = Simd::bit_and(second, mask);
        four[3] = Simd::high_nibbles(second);
        if constexpr (codec::Codebook<Codec>) {
          const Int table = Simd::broadcast_16(Codec::values.data());
          EDGEQ_FOR (w, 4) four[w] = Simd::lookup_bytes(table, four[w]);
        }
      } else {
        if constexpr (Codec::bits == 8)
          EDGEQ_FOR (w, 4) four[w] = Simd::load_codes(line + (4 * i + w) * line_bytes);
        else
          unpack_values<Codec>(line + i * Format::bytes_per_line, four);
        Tile::interleave(four[0], four[2]);
        Tile::interleave(four[1], four[3]);
      }
      EDGEQ_FOR (w, 4) values[4 * i + w] = Simd::template as_signed<Codec::largest_value>(four[w]);
    }
  }
  /// A step of which the group has only the first lines; the others meet zeros of x.
  static void unpack_rest(const std::uint8_t* line, std::size_t lines, Int (&values)[words]) noexcept {
    alignas(16) std::uint8_t copy[step_bytes] = {};
    for (std::size_t i = 0; i < lines * (Format::bytes_per_line / line_bytes); ++i)
      __builtin_memcpy(copy + i * line_bytes, line + i * line_bytes, quad_bytes);
    unpack_step(copy, values);
  }

  /// Where the accumulators of a block start: at the folds that x holds, times the columns' zeros.
  template <std::size_t Units, std::size_t Quads>
  static EDGEQ_INLINE void start_block(Int (&acc)[Units][Quads][planes][parts], const std::int8_t* x,
                                       const HeaderPlace& header, std::size_t quad) noexcept {
    EDGEQ_FOR (q, Quads)
      EDGEQ_FOR (i, parts) {
        Int zeros = Simd::set1(0);
        if constexpr (Offset::has_zeros)
          zeros = Tile::columns(Simd::subtract(GroupHeader<Format>::zero(header, (quad + q) * Simd::lanes),
                                               Simd::set1(Scaling::subtracted)),
                                i);
        EDGEQ_FOR (u, Units) {
          if constexpr (planes == 2) acc[u][q][0][i] = Simd::set1(0);
          Int& start = acc[u][q][planes - 1][i];
          start = zeros;
          if constexpr (fold != 0)
            start = Simd::load_codes(reinterpret_cast<const std::uint8_t*>(x) + (u * parts + i) * 16);
          if constexpr (Offset::has_zeros) start = Simd::multiply(start, zeros);
        }
      }
  }

  /// Scales, and minima, of one quad's parts: out of the scratch buffer, or on their way into it.
  template <Source source>
  static EDGEQ_INLINE void load_headers(Header (&headers)[parts], const HeaderPlace& place, std::size_t quad,
                                        Int*& scratch) noexcept {
    if constexpr (source == Source::scratch) {
      EDGEQ_FOR (i, parts) {
        headers[i].scale = Simd::from_bits(*scratch++);
        if constexpr (Offset::has_minima) headers[i].minimum = Simd::from_bits(*scratch++);
      }
    } else {
      const Header columns = Scaling::load_header(place, quad * Simd::lanes);
      EDGEQ_FOR (i, parts) {
        headers[i].scale = Tile::columns(columns.scale, i);
        if constexpr (Offset::has_minima) headers[i].minimum = Tile::columns(columns.minimum, i);
        if constexpr (source == Source::panel_for_others) {
          *scratch++ = Simd::bits(headers[i].scale);
          if constexpr (Offset::has_minima) *scratch++ = Simd::bits(headers[i].minimum);
        }
      }
    }
  }

  /// The sums of Rows rows and Quads quads, `quad` being the first, over a chunk of K.
  template <std::size_t Rows, std::size_t Quads, Source source>
  static EDGEQ_INLINE void run(const GemmArguments& g, const RowTile& tile, const std::uint8_t* panel,
                               std::size_t quad, const Chunk& chunk, Workspace& w, std::size_t row) noexcept {
    constexpr std::size_t units = Rows / unit;
    const PanelGeometry& geometry = *g.geometry;
    Int* scratch = w.scratch[quad];
    float(*sums)[panel_columns] = w.sums + row;
    UnitOfRows rows[units];
    if constexpr (Offset::has_minima || Activation::per_group)
      EDGEQ_FOR (u, units)
        EDGEQ_FOR (i, unit) rows[u].row[i] = row_of(g, tile, u * unit + i);
    Float out[units][Quads][parts];
    EDGEQ_FOR (u, units)
      EDGEQ_FOR (q, Quads)
        EDGEQ_FOR (i, parts) out[u][q][i] = load_sums(sums[u * unit + i], quad + q);

    std::size_t group = chunk.begin / geometry.blocks_per_group,
                k_begin = chunk.begin % geometry.blocks_per_group * Format::accumulation_block,
                block = chunk.begin;
    const auto* x = reinterpret_cast<const std::int8_t*>(g.prepared + tile.first * g.layout.row_bytes) +
                    Rows * Layout::offset(g.layout, group, k_begin, block);
    const auto multiply_block = [&](const HeaderPlace& header, const std::uint8_t* line,
                                    std::size_t lines) EDGEQ_INLINE_LAMBDA {
      Int acc[units][Quads][planes][parts];
      start_block(acc, x, header, quad);
      if constexpr (fold != 0) x += units * parts * 16;
      const auto multiply_step = [&](std::size_t lines_now) EDGEQ_INLINE_LAMBDA {
        EDGEQ_FOR (q, Quads) {
          Int values[words];
          if constexpr (source == Source::scratch)
            EDGEQ_FOR (i, words) values[i] = *scratch++;
          else if (lines_now == lines_per_step)
            unpack_step(line + q * quad_bytes, values);
          else
            unpack_rest(line + q * quad_bytes, lines_now, values);
          if constexpr (source == Source::panel_for_others)
            EDGEQ_FOR (i, words) *scratch++ = values[i];
          EDGEQ_FOR (p, planes)
            EDGEQ_FOR (u, units)
              Tile::template multiply<Codec::largest_value>(acc[u][q][p], values,
                                                            x + (p * units + u) * Tile::x_bytes);
        }
        x += planes * units * Tile::x_bytes;
        line += step_bytes;
      };
      if constexpr (known_steps != 0) {
        EDGEQ_FOR (s, known_steps) {
          Simd::keep_order();
          multiply_step(lines_per_step);
        }
      } else {
        for (std::size_t l = 0; l < lines; l += lines_per_step)
          multiply_step(lines - l < lines_per_step ? lines - l : lines_per_step);
      }
      EDGEQ_FOR (q, Quads) {
        Header headers[parts];
        load_headers<source>(headers, header, quad + q, scratch);
        EDGEQ_FOR (u, units)
          EDGEQ_FOR (i, parts)
            Scaling::add_block(out[u][q][i], acc[u][q][0][i], acc[u][q][planes - 1][i], headers[i], rows[u],
                               group, block);
      }
    };

    if constexpr (known_steps != 0) {
      constexpr std::size_t lines_bytes = known_lines<Format> * Format::bytes_per_line,
                            headers_bytes = Format::groups_per_record * Format::header_bytes;
      const auto walk = [&](const std::uint8_t* record, std::size_t first,
                            std::size_t end) EDGEQ_INLINE_LAMBDA {
        while (block != end) {
          if constexpr (is_unrolled) {
            EDGEQ_FOR (i, Format::groups_per_record) {
              if (i != 0 && block == end) return;
              multiply_block({record, i}, record + headers_bytes + i * lines_bytes + quad * quad_bytes, 0);
              ++group;
              ++block;
            }
          } else {
            const std::uint8_t* line = record + headers_bytes + quad * quad_bytes;
            for (std::size_t i = first; i < Format::groups_per_record && block != end; ++i) {
              multiply_block({record, i}, line, 0);
              line += lines_bytes;
              ++group;
              ++block;
            }
          }
          record += headers_bytes + Format::groups_per_record * lines_bytes;
        }
      };
      const std::uint8_t* record = panel + geometry.headers_offset(group, Format::groups_per_record);
      std::size_t first = 0, stop = chunk.direct;
      for (;;) {
        walk(record, first, stop);
        if (block == chunk.end) break;
        record = w.last.record;
        first = group % Format::groups_per_record;
        stop = chunk.end;
      }
    } else {
      for (; block != chunk.end; ++block) {
        const std::size_t length = geometry.group_length(group) - k_begin, limit = Format::accumulation_block;
        multiply_block(header_place<Format>(panel, geometry, group),
                       panel + lines_offset<Format>(geometry, group) +
                           k_begin / Format::k_per_line * Format::bytes_per_line + quad * quad_bytes,
                       ((length < limit ? length : limit) - 1) / Format::k_per_line + 1);
        k_begin = length <= limit ? 0 : k_begin + limit;
        if (length <= limit) ++group;
      }
    }
    EDGEQ_FOR (u, units)
      EDGEQ_FOR (q, Quads)
        EDGEQ_FOR (i, parts) store_sums(sums[u * unit + i], quad + q, out[u][q][i]);
  }

  /// All quads of a tile; as many at a time as the accumulators allow.
  template <std::size_t Rows, Source source>
  static void run_quads(const GemmArguments& g, const RowTile& tile, const std::uint8_t* panel,
                        const Chunk& chunk, Workspace& w, std::size_t row) noexcept {
    constexpr std::size_t registers = Rows / unit * parts * planes,
                          fit = registers >= Tile::accumulators ? 1 : Tile::accumulators / registers,
                          at_once = source != Source::panel ? 1
                                    : fit < quads           ? std::bit_floor(fit)
                                                            : quads;
    for (std::size_t quad = 0; quad < quads; quad += at_once)
      run<Rows, at_once, source>(g, tile, panel, quad, chunk, w, row);
  }

  static void multiply_chunk(const GemmArguments& g, const std::uint8_t* panel, const Chunk& chunk,
                             Workspace& w, std::size_t row_begin, std::size_t row_end) noexcept {
    for (std::size_t m = row_begin; m < row_end;) {
      const RowTile tile = row_tile_of<tile_rows, unit>(m, g.m);
      const std::size_t row = m - row_begin;
      if (tile.rows == tile_rows) {
        if (row == 0 && row_end - m < 2 * tile_rows)
          run_quads<tile_rows, Source::panel>(g, tile, panel, chunk, w, row);
        else if (row == 0)
          run_quads<tile_rows, Source::panel_for_others>(g, tile, panel, chunk, w, row);
        else
          run_quads<tile_rows, Source::scratch>(g, tile, panel, chunk, w, row);
      } else {
        run_smaller<tile_rows <= 8 ? tile_rows / 2 : 8>(g, tile, panel, chunk, w, row);
      }
      m += tile.rows;
    }
  }
  /// A tile of Rows rows or of a smaller power of two.
  template <std::size_t Rows>
  static EDGEQ_INLINE void run_smaller(const GemmArguments& g, const RowTile& tile, const std::uint8_t* panel,
                                       const Chunk& chunk, Workspace& w, std::size_t row) noexcept {
    if constexpr (Rows >= unit) {
      if (tile.rows == Rows) return run_quads<Rows, Source::panel>(g, tile, panel, chunk, w, row);
      run_smaller<Rows / 2>(g, tile, panel, chunk, w, row);
    }
  }

  static void gemm(const GemmArguments& g) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    constexpr std::size_t limit = Format::accumulation_block / Tile::step_k;
    const std::size_t block_steps = g.layout.group_steps < limit ? g.layout.group_steps : limit,
                      fit = chunk_steps / block_steps,
                      chunk_blocks = g.m < 2 * tile_rows ? geometry.blocks
                                     : known_steps == 0
                                         ? fit
                                         : fit / Format::groups_per_record * Format::groups_per_record;
    const std::size_t direct = geometry.blocks - (LastRecord::is_needed(geometry) ? 1 : 0);
    Workspace w;
    for (std::size_t index = g.panel_begin; index < g.panel_end; ++index) {
      const std::uint8_t* panel = g.panels + index * geometry.panel_bytes;
      if (direct != geometry.blocks) w.last.copy(geometry, panel);
      for (std::size_t m = 0; m < g.m; m += block_rows) {
        const std::size_t m_end = g.m - m < block_rows ? g.m : m + block_rows;
        __builtin_memset(w.sums, 0, (round_up(m_end, unit) - m) * sizeof(w.sums[0]));
        for (std::size_t b = 0; b < geometry.blocks; b += chunk_blocks) {
          const std::size_t end = geometry.blocks - b < chunk_blocks ? geometry.blocks : b + chunk_blocks;
          multiply_chunk(g, panel, {b, end < direct ? end : direct, end}, w, m, m_end);
        }
        for (std::size_t row = m; row < m_end; row += unit)
          finish_rows(g, row, index * panel_columns, w.sums + (row - m));
      }
    }
  }
  /// y of a unit of rows from m on.
  static EDGEQ_INLINE void finish_rows(const GemmArguments& g, std::size_t m, std::size_t column,
                                       const float (*sums)[panel_columns]) noexcept {
    const RowTile tile = row_tile_of<tile_rows, unit>(m, g.m);
    Float out[quads][parts];
    EDGEQ_FOR (q, quads) {
      EDGEQ_FOR (i, parts) out[q][i] = load_sums(sums[i], q);
      Tile::transpose(out[q]);
    }
    EDGEQ_FOR (i, unit) {
      if (m + i == g.m) return;
      const typename Scaling::Row row = row_of(g, tile, m + i - tile.first);
      Float y[quads];
      EDGEQ_FOR (q, quads) y[q] = Scaling::finish(out[q][i], g, row, column + q * Simd::lanes);
      store_columns(g, m + i, column, y);
    }
  }

  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return Layout::of(geometry, known_steps == 0 ? 1 : known_steps * Tile::step_k, unit);
  }
  static constexpr PrepareFunction prepare = &quantize_tiles<Activation, Tile, fold, tile_rows>;
};
