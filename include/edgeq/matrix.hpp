// SPDX-License-Identifier: Apache-2.0
// A view of a row-major matrix that the caller owns.
#pragma once
#include <cstddef>
#include <type_traits>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A row-major matrix [rows, columns] at `data`, rows `stride` elements apart. It owns nothing.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;  ///< elements from one row to the next, at least `columns`

  constexpr MatrixView() = default;
  /// Dense: stride = columns.
  constexpr MatrixView(T* data_in, std::size_t rows_in, std::size_t columns_in) noexcept
      : MatrixView(data_in, rows_in, columns_in, columns_in) {}
  constexpr MatrixView(T* data_in, std::size_t rows_in, std::size_t columns_in,
                       std::size_t stride_in) noexcept
      : data(data_in), rows(rows_in), columns(columns_in), stride(stride_in) {}
  /// A view of constants from a view of variables.
  template <class U>
  requires std::is_same_v<const U, T>
  constexpr MatrixView(MatrixView<U> other) noexcept
      : MatrixView(other.data, other.rows, other.columns, other.stride) {}

  constexpr T* row(std::size_t m) const noexcept { return data + m * stride; }
};

}
