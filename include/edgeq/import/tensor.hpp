// SPDX-License-Identifier: Apache-2.0
// A tensor of a checkpoint: its name, element type, shape and bytes, wherever the file put them. Containers
// hand these out, importers of weight layouts take them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/number/little_endian.hpp"
#include "edgeq/number/stored_float.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The element types of checkpoints, by their names in safetensors ("F8_E4M3" is the kind without
/// infinities).
enum class ElementType : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  f8_e4m3,
  f8_e5m2,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f8_e8m0,
  f4,
  f6_e2m3,
  f6_e3m2,
};

/// Name and size of an element type.
struct ElementInfo {
  std::string_view name;
  std::size_t bits = 0;
};

constexpr ElementInfo element_info(ElementType type) noexcept {
  constexpr ElementInfo table[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"I16", 16},    {"U16", 16},        {"I32", 32},
      {"U32", 32},    {"I64", 64}, {"U64", 64},    {"F16", 16},    {"BF16", 16},       {"F32", 32},
      {"F64", 64},    {"C64", 64}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
      {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};
  return table[static_cast<std::size_t>(type)];
}

/// A view of a tensor, row-major. It owns neither the name nor the data; the data may begin at any address,
/// so elements, which are little-endian, are read by `at`.
struct CheckpointTensor {
  std::string_view name;
  ElementType type = ElementType::u8;
  std::vector<std::size_t> shape;   ///< elements, outermost first
  std::span<const std::byte> data;  ///< exactly what shape and type need

  /// The number of elements; 1 for a scalar, whose shape is empty.
  std::size_t size() const noexcept {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
  }
  /// Tensor i of the outermost extent, such as one expert of a layer's. i must be below shape[0], and every
  /// part whole bytes.
  CheckpointTensor part(std::size_t i) const {
    const std::size_t bytes = data.size() / shape[0];
    return {name, type, {shape.begin() + 1, shape.end()}, data.subspan(i * bytes, bytes)};
  }
  /// Element i, counted row-major. T must be of the element's size.
  template <class T>
  T at(std::size_t i) const noexcept {
    return load_little_endian<T>(data.data() + i * sizeof(T));
  }
};

}
