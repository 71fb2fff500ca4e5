// SPDX-License-Identifier: Apache-2.0
// Unquantized weights: f32, f16 and bf16, packed into the same panels.
#pragma once
#include <cstring>
#include <span>
#include <vector>

#include "edgeq/format/weight_format.hpp"
#include "edgeq/number/little_endian.hpp"
#include "edgeq/number/stored_float.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Sixteen rows of floats on their way into a panel, row-major [16, K].
template <StoredFloat T>
struct FloatRows {
  std::size_t k = 0;
  std::vector<T> values;

  void reset(std::size_t k_in, std::size_t) {
    k = k_in;
    values.assign(panel_columns * k, T{});
  }
};

/// W [N, K], row-major, dense. It owns nothing.
template <StoredFloat T>
struct FloatView {
  std::size_t n = 0;
  std::size_t k = 0;
  std::span<const T> values;  ///< [N, K]

  constexpr WeightShape shape() const noexcept { return {n, k, k == 0 ? 1 : k}; }

  /// Refuses a span that is not N x K long.
  Status validate() const {
    if (k != 0 && n > SIZE_MAX / 16 / k)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    if (values.size() != n * k)
      return Error{ErrorCode::invalid_argument, "edgeq: values has " + std::to_string(values.size()) +
                                                    " elements, its shape needs " + std::to_string(n * k)};
    return success();
  }
  /// Copies row n into row r of a block.
  void read(std::size_t row, std::size_t r, FloatRows<T>& rows) const noexcept {
    if (k != 0) std::memcpy(rows.values.data() + r * k, values.data() + row * k, k * sizeof(T));
  }
};

template <StoredFloat T>
struct FloatWeight;

/// W [N, K], row-major, dense, little-endian, at any address, as files have it. A WeightSource; it owns
/// nothing.
template <StoredFloat T>
struct FloatBytes {
  using Format = FloatWeight<T>;
  std::size_t n = 0;
  std::size_t k = 0;
  std::span<const std::byte> data = {};  ///< [N, K]

  constexpr WeightShape shape() const noexcept { return {n, k, k == 0 ? 1 : k}; }
  /// Refuses data that are not N x K elements.
  Status validate() const {
    if (k != 0 && n > SIZE_MAX / 16 / k)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    if (data.size() != n * k * sizeof(T))
      return Error{ErrorCode::invalid_argument, "edgeq: floats of " + std::to_string(data.size()) +
                                                    " bytes, their shape needs " +
                                                    std::to_string(n * k * sizeof(T))};
    return success();
  }
  /// Copies row n into row r of a block.
  void read(std::size_t row, std::size_t r, FloatRows<T>& rows) const noexcept {
    copy_little_endian<T>(rows.values.data() + r * k, data.data() + row * k * sizeof(T), k);
  }
};

/// Weights of type T (float, BFloat16, Float16). One group covers all of K and has no header; a line holds 16
/// columns x 1 k (32-bit) or 2 k (16-bit: element 2 * column + i has k = i, the operand order of the bf16 dot
/// products).
template <StoredFloat T>
struct FloatWeight {
  using Element = T;
  using View = FloatView<T>;
  using Rows = FloatRows<T>;

  static constexpr bool is_integer = false;
  static constexpr int group = per_channel;
  static constexpr std::size_t k_per_line = 4 / sizeof(T);
  static constexpr std::size_t bytes_per_line = line_bytes;
  static constexpr std::size_t header_bytes = 0;
  static constexpr std::size_t groups_per_record = 1;
  static constexpr std::size_t accumulation_block = 512;

  static std::string name() { return stored_float_name<T>(); }

  /// W[n, k] of a view. This is the definition of the format.
  static float decode(const View& view, std::size_t n, std::size_t k) noexcept {
    return to_float(view.values[n * view.k + k]);
  }
  /// The weight of row r of a block at k.
  static float row_value(const Rows& rows, std::size_t r, std::size_t k) noexcept {
    return to_float(rows.values[r * rows.k + k]);
  }
  static void pack_group(std::uint8_t*, std::uint8_t* lines, const Rows& rows, std::size_t,
                         std::size_t k_begin, std::size_t length) noexcept {
    for (std::size_t column = 0; column < panel_columns; ++column)
      for (std::size_t k = 0; k < length; ++k)
        std::memcpy(lines + element_offset(column, k), &rows.values[column * rows.k + k_begin + k],
                    sizeof(T));
  }
  static float unpack(const HeaderPlace&, const std::uint8_t* lines, std::size_t column,
                      std::size_t k) noexcept {
    T value;
    std::memcpy(&value, lines + element_offset(column, k), sizeof(T));
    return to_float(value);
  }

 private:
  static constexpr std::size_t element_offset(std::size_t column, std::size_t k) noexcept {
    return k / k_per_line * line_bytes + (column * k_per_line + k % k_per_line) * sizeof(T);
  }
};

}
