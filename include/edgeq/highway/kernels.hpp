// SPDX-License-Identifier: Apache-2.0
// What the translation unit kernels.cc offers to headers: plain structs of pointers and sizes, no Highway
// type.
//
// Its own namespace, and no type of edgeq in it: those live in a namespace named after the instruction set of
// a translation unit, which may differ between kernels.cc and its callers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace edgeq_highway {

/// How a code, a scale or an unquantized weight is stored.
enum class Stored : std::uint8_t { nibble, six_bits, byte, e4m3, e5m2, f32, f16, bf16 };

/// What lies between a code and its value: scale * (code - midpoint), scale * (code - zero), or
/// scale * (code - midpoint) + minimum.
enum class Offset : std::uint8_t { symmetric, integer_zero, float_minimum };

/// Writes the 16 scales and minima of the group whose header is number `index` of those at `headers`.
using ExpandHeader = void (*)(const std::uint8_t* headers, std::size_t index, float* scales,
                              float* minima) noexcept;

/// How K is cut: the fields of edgeq::PanelGeometry that activations and weights have in common.
struct Groups {
  std::size_t k, group, groups;
  std::size_t accumulation_block;  ///< longest run of k whose products are summed as integers
  std::size_t x_group;             ///< elements from one group of prepared x to the next
};

/// Packed panels of W.
struct Weights {
  Stored element;
  Stored scale;  ///< of scales and minima; without meaning if header_bytes is 0
  Offset offset;
  int midpoint;
  const std::uint8_t* values;  ///< of a table's 16 nibbles, each value that dot products multiply; or null
  const float* floats;         ///< and each value less the midpoint; or null
  ExpandHeader expand;         ///< for headers of another kind than scales and minima or zeros; or null
  std::size_t minima_offset, zeros_offset;  ///< in a group's header
  std::size_t header_bytes, groups_per_record, lines_bytes, record_bytes, panel_bytes;
  const std::uint8_t* panels;
};

/// Rows of prepared activations: the fields of edgeq::PreparedLayout and of the activation policy.
struct Rows {
  std::size_t row_bytes, plane_bytes, sums_offset, scales_offset;
  int planes;  ///< 1 or 2 planes of int8 codes; 0: floats
  bool per_group;
  bool has_zero;  ///< the row's zero point, f32, follows its scale
};

/// y = x W^T + bias for m rows and the columns of panels panel_begin .. panel_end - 1.
struct Multiplication {
  Groups groups;
  Weights weights;
  Rows rows;
  const std::byte* prepared;
  const float* bias;         ///< [N padded to 16], or null
  const float* column_sums;  ///< sum over k of W [N padded to 16], for activations with a zero point
  void* y;
  Stored y_type;         ///< f32, f16 or bf16
  std::size_t y_stride;  ///< elements
  std::size_t m, n;
  std::size_t panel_begin, panel_end;
};

/// Rows row_begin .. row_end - 1 of x, as codes.
struct Quantization {
  Groups groups;
  Rows rows;
  const float* x;
  std::size_t x_stride;  ///< elements
  std::byte* prepared;
  std::size_t row_begin, row_end;
};

/// Both run on the best of Highway's targets that this processor has, with the rounding mode and the
/// treatment of subnormals that the caller has set.
void multiply(const Multiplication& arguments) noexcept;
void quantize(const Quantization& arguments) noexcept;

/// The name of that target, e.g. "AVX2".
const char* target_name() noexcept;

}
