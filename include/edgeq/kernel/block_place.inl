// SPDX-License-Identifier: Apache-2.0
// Where accumulation blocks of a panel lie, for kernels that take one after the other and count instructions.
// Included inside an ISA's region, over panel_walk.inl.

/// The header and the lines of one block; advance() goes to the next.
template <class Format>
class BlockPlace {
 public:
  EDGEQ_INLINE BlockPlace(const PanelGeometry& geometry, const std::uint8_t* panel,
                          std::size_t block) noexcept
      : group_(block / geometry.blocks_per_group), k_begin_(block % geometry.blocks_per_group * limit) {
    const HeaderPlace header = header_place<Format>(panel, geometry, group_);
    headers_ = header.headers;
    index_ = header.index;
    line_ = panel + lines_offset<Format>(geometry, group_) +
            k_begin_ / Format::k_per_line * Format::bytes_per_line;
    header_back_ = index_ == 0 ? 2 * Format::header_bytes : Format::header_bytes + lines_bytes;
    line_step_ = index_ == 0 ? lines_bytes : lines_bytes + 2 * Format::header_bytes;
  }

  EDGEQ_INLINE std::size_t group() const noexcept { return group_; }
  EDGEQ_INLINE std::size_t k_begin() const noexcept { return k_begin_; }
  EDGEQ_INLINE const std::uint8_t* line() const noexcept { return line_; }
  EDGEQ_INLINE HeaderPlace header() const noexcept {
    if constexpr (in_turn)
      return {line_ - header_back_, 0};
    else
      return {headers_, index_};
  }
  EDGEQ_INLINE std::size_t lines(const PanelGeometry& geometry) const noexcept {
    const std::size_t length = geometry.group_length(group_) - k_begin_;
    return ((length < limit ? length : limit) - 1) / Format::k_per_line + 1;
  }

  /// From a whole group to the next, where the format knows its group.
  EDGEQ_INLINE void advance() noexcept {
    ++group_;
    if constexpr (in_turn) {
      line_ += line_step_;
      header_back_ = 3 * Format::header_bytes + lines_bytes - header_back_;
      line_step_ = 2 * (lines_bytes + Format::header_bytes) - line_step_;
    } else {
      line_ += lines_bytes;
      next_header();
    }
  }
  /// The same where it does not; this block had so many lines.
  EDGEQ_INLINE void advance(const PanelGeometry& geometry, std::size_t lines) noexcept {
    line_ += lines * Format::bytes_per_line;
    k_begin_ += limit;
    if (k_begin_ < geometry.group_length(group_)) return;
    k_begin_ = 0;
    ++group_;
    next_header();
  }

  /// Goes on with copies of a group's lines and, where groups have headers of their own, of its header.
  EDGEQ_INLINE void redirect(const std::uint8_t* header, const std::uint8_t* line) noexcept {
    line_ = line;
    header_back_ = static_cast<std::size_t>(line - header);
  }

 private:
  static constexpr std::size_t limit = Format::accumulation_block,
                               lines_bytes = known_lines<Format> * Format::bytes_per_line;
  /// Two groups of a record, whose headers stand before the lines of both: distances alternate between two
  /// values, and a subtraction is cheaper than a branch.
  static constexpr bool in_turn = known_lines<Format> != 0 && Format::groups_per_record == 2;

  EDGEQ_INLINE void next_header() noexcept {
    if (++index_ == Format::groups_per_record) {
      index_ = 0;
      headers_ = line_;
      line_ += Format::groups_per_record * Format::header_bytes;
    }
  }

  std::size_t group_, k_begin_;
  const std::uint8_t* line_;
  const std::uint8_t* headers_;
  std::size_t index_;
  std::size_t header_back_, line_step_;  ///< in_turn
};
