// SPDX-License-Identifier: Apache-2.0
// The floats of checkpoint tensors: element by element where they lie, or widened exactly to binary32.
#pragma once
#include "edgeq/import/tensor_checks.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A matrix [rows, columns] of stored floats, at any address and with any strides. It owns nothing.
struct FloatTable {
  FloatType type = FloatType::f32;
  std::span<const std::byte> data;
  std::size_t row_step = 0;     ///< elements from one row to the next
  std::size_t column_step = 0;  ///< elements from one column to the next

  /// Whether all elements of a matrix [rows, columns] lie inside the data.
  constexpr bool holds(std::size_t rows, std::size_t columns) const noexcept {
    if (rows == 0 || columns == 0) return true;
    const std::size_t elements = data.size() / bytes_of(type);
    if (elements == 0 || (row_step != 0 && rows - 1 > (elements - 1) / row_step)) return false;
    return column_step == 0 || columns - 1 <= (elements - 1 - (rows - 1) * row_step) / column_step;
  }

  /// The element as it is stored; T must be the table's type.
  template <StoredFloat T>
  T at(std::size_t row, std::size_t column) const noexcept {
    return load_little_endian<T>(data.data() + (row * row_step + column * column_step) * sizeof(T));
  }
  /// The same, widened exactly.
  float value(std::size_t row, std::size_t column) const noexcept {
    float widened = 0;
    with_float_type(type, [&]<StoredFloat T>(T) { widened = to_float(at<T>(row, column)); });
    return widened;
  }
};

/// The element types whose floats are kept as they are stored.
inline constexpr ElementTypes stored_floats{ElementType::f16, ElementType::bf16, ElementType::f32};

/// The one of them as a float type.
constexpr FloatType stored_float_type(ElementType type) noexcept {
  return type == ElementType::f16    ? FloatType::f16
         : type == ElementType::bf16 ? FloatType::bf16
                                     : FloatType::f32;
}

/// All elements of an F32, F16, BF16 or F8_E8M0 tensor, widened exactly. The tensor's bytes must be those of
/// its shape.
inline std::vector<float> to_floats(const CheckpointTensor& tensor) {
  std::vector<float> values(tensor.data.size() * 8 / element_info(tensor.type).bits);
  if (tensor.type == ElementType::f8_e8m0) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_float(tensor.at<E8M0>(i));
    return values;
  }
  const FloatTable table{stored_float_type(tensor.type), tensor.data, 0, 1};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = table.value(0, i);
  return values;
}

/// The bias [N] of a linear, widened exactly. Refuses other shapes, and types but F32, F16 and BF16.
inline Result<std::vector<float>> read_bias(const CheckpointTensor& tensor, std::size_t n) {
  const TensorChecks checks("bias");
  if (Status status = checks.type_and_shape(tensor, stored_floats, {{n}}); !status) return status.error();
  return to_floats(tensor);
}

}
