// SPDX-License-Identifier: Apache-2.0
// Activation policies: in which precision x meets the weights.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Who shares an activation scale.
struct PerRow {};
struct PerGroup {};

/// Activations quantized while the layer runs, symmetric, one float scale per row of x or per row and weight
/// group.
///
/// With a = max |x| of the row (or group): code = round to nearest even of x * (limit / a), scale = a /
/// limit; a = 0 gives codes 0 and scale 0. A NaN or Inf gives codes 0 and scale NaN, so that exactly this row
/// of y becomes NaN. Where a is below 2^-100, limit / a could overflow: x and a are then multiplied by 2^100
/// first, which is exact.
template <int Bits, class Granularity>
struct DynamicInteger {
  static_assert(Bits == 8 || Bits == 16, "edgeq: activations are quantized to 8 or 16 bits");
  static constexpr bool is_integer = true;
  static constexpr int bits = Bits;
  static constexpr bool per_group = std::same_as<Granularity, PerGroup>;
  /// 127, or 127 * 256: a 16-bit code is 256 * high + low with high in -127..127 and low in -128..127, so
  /// that it runs as two passes of an int8 dot product over the same loaded weights.
  static constexpr int limit = Bits == 8 ? 127 : 32512;
  static constexpr std::size_t planes = Bits / 8;
  static constexpr std::size_t element_bytes = planes;
  static constexpr const char* name =
      Bits == 8 ? (per_group ? "int8/group" : "int8") : (per_group ? "int16/group" : "int16");
  static constexpr const char* numerics =
      "exact integer sums, the same bits on every ISA, M and thread count";
};

/// 8-bit activations, one scale per row: the fastest; error bounded by half a step, a / 254, per element of
/// x.
using DynamicInt8 = DynamicInteger<8, PerRow>;
/// 8-bit activations, one scale per row and weight group: outliers disturb only their own group.
using DynamicInt8PerGroup = DynamicInteger<8, PerGroup>;
/// 16-bit activations, one scale per row: error a / 65024 per element, at DRAM-bound decode as fast as 8-bit
/// ones.
using DynamicInt16 = DynamicInteger<16, PerRow>;
/// 16-bit activations, one scale per row and weight group.
using DynamicInt16PerGroup = DynamicInteger<16, PerGroup>;

/// 32-bit float activations: x is used as it is and sums are rounded in float.
struct F32 {
  static constexpr bool is_integer = false;
  static constexpr bool per_group = false;
  static constexpr std::size_t planes = 1;
  static constexpr std::size_t element_bytes = sizeof(float);
  static constexpr const char* name = "f32";
  static constexpr const char* numerics =
      "float sums, |y - exact| <= (K + 4) * 2^-23 * (sum |x| |w| + |bias|)";
};

/// What a policy must say about itself.
template <class A>
concept ActivationPolicy = requires {
  { A::is_integer } -> std::convertible_to<bool>;
  { A::per_group } -> std::convertible_to<bool>;
  { A::planes } -> std::convertible_to<std::size_t>;
  { A::element_bytes } -> std::convertible_to<std::size_t>;
  { A::name } -> std::convertible_to<const char*>;
  { A::numerics } -> std::convertible_to<const char*>;
};

}
