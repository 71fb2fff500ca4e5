// SPDX-License-Identifier: Apache-2.0
// Activation policies: in which precision x meets the weights.
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Who shares an activation scale.
struct PerRow {};
struct PerGroup {};

/// What every policy answers unless it says otherwise.
struct ActivationDefaults {
  static constexpr bool is_integer = true;
  static constexpr bool per_group = false;  ///< a scale for each weight group, not for each row
  static constexpr bool has_zero = false;   ///< x = scale * (code - zero)
  static constexpr bool is_static = false;  ///< scale and zero are given, not found
  static constexpr std::size_t planes = 1;  ///< int8 operands that a code consists of
};

/// Activations quantized while the layer runs, symmetric, one float scale per row of x or per row and weight
/// group.
///
/// With a = max |x| of the row (or group): code = round to nearest even of x * (limit / a), scale = a /
/// limit; a = 0 gives codes 0 and scale 0. A NaN or Inf gives codes 0 and scale NaN, so that exactly this row
/// of y becomes NaN. Where a is below 2^-100, limit / a could overflow: x and a are then multiplied by 2^100
/// first, which is exact.
template <int Bits, class Granularity>
struct DynamicInteger : ActivationDefaults {
  static_assert(Bits == 8 || Bits == 16, "edgeq: activations are quantized to 8 or 16 bits");
  static constexpr int bits = Bits;
  static constexpr bool per_group = std::same_as<Granularity, PerGroup>;
  /// 127, or 127 * 256: a 16-bit code is 256 * high + low with high in -127..127 and low in -128..127, so
  /// that it runs as two passes of an int8 dot product over the same loaded weights.
  static constexpr int limit = Bits == 8 ? 127 : 32512;
  static constexpr std::size_t planes = Bits / 8;
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

/// 8-bit activations with a zero point per row, for rows that lie to one side of 0: half the error of
/// DynamicInt8 where no element is negative.
///
/// With low = min(x, 0), high = max(x, 0) of the row: scale = (high - low) / 255, inverse = 255 / (high -
/// low), zero = round(-low * inverse) - 128, code = round(x * inverse) + zero, at most 127. What
/// DynamicInteger says of 0, NaN, Inf and very small rows holds here too (measured by high - low); rows whose
/// high - low would overflow are halved first.
///
/// y = scale * (sum of code * W - zero * sum of W) + bias: the sum of W over k of each column is found once,
/// in double, when the layer is built.
struct DynamicInt8Zero : ActivationDefaults {
  static constexpr int bits = 8;
  static constexpr bool has_zero = true;
  static constexpr const char* name = "int8/zero";
  static constexpr const char* numerics =
      "exact integer sums, the same bits on every ISA, M and thread count";
};

/// What a calibration found for a layer's input: x is about scale * (code - zero), code in -128..127.
struct ActivationRange {
  float scale = 0.0f;     ///< finite and above 0
  std::int32_t zero = 0;  ///< -128..127

  /// By the bits: a host that reads subnormals as 0 must not change the answer.
  constexpr bool valid() const noexcept {
    const auto bits = std::bit_cast<std::int32_t>(scale);
    return bits > 0 && bits < 0x7F800000 && zero >= -128 && zero <= 127;
  }
  friend constexpr bool operator==(const ActivationRange& a, const ActivationRange& b) noexcept {
    return std::bit_cast<std::int32_t>(a.scale) == std::bit_cast<std::int32_t>(b.scale) && a.zero == b.zero;
  }
};

/// 8-bit activations whose scale and zero point were fixed by calibration (AnyLinear::with_range): code =
/// round(x / scale) + zero, saturated to -128..127, as ONNX QuantizeLinear rounds. A row with NaN or Inf
/// becomes NaN.
struct StaticInt8 : ActivationDefaults {
  static constexpr int bits = 8;
  static constexpr bool has_zero = true;
  static constexpr bool is_static = true;
  static constexpr const char* name = "int8/static";
  static constexpr const char* numerics =
      "exact integer sums, the same bits on every ISA, M and thread count";
};

/// 32-bit float activations: x is used as it is and sums are rounded in float.
struct F32 : ActivationDefaults {
  static constexpr bool is_integer = false;
  static constexpr const char* name = "f32";
  static constexpr const char* numerics =
      "float sums, |y - exact| <= (K + 4) * 2^-23 * (sum |x| |w| + |bias|)";
};

/// bfloat16 activations: x is rounded to bf16 (to nearest even), products and sums are float. On the dot
/// products of AVX-512 BF16 and AMX; elsewhere the same weights and x in float arithmetic.
///
/// The dot products multiply x by codes, which are exact in bf16, and scale the sum of a group: so decode and
/// prefill round alike, and |x| |code| summed over a group must stay below 2^128. They read subnormals of x
/// as 0. With zeros, |w| in the bound is |scale * (code - midpoint)| + |scale * (midpoint - zero)|; with
/// minima |scale * code| + |minimum|.
struct Bf16 : ActivationDefaults {
  static constexpr bool is_integer = false;
  static constexpr const char* name = "bf16";
  static constexpr const char* numerics =
      "float sums of x rounded to bf16, |y - exact| <= (K + 8) * 2^-23 * (sum |x| |w| + |bias|)";
};

/// What a policy must say about itself.
template <class A>
concept ActivationPolicy = requires {
  { A::is_integer } -> std::convertible_to<bool>;
  { A::per_group } -> std::convertible_to<bool>;
  { A::has_zero } -> std::convertible_to<bool>;
  { A::is_static } -> std::convertible_to<bool>;
  { A::planes } -> std::convertible_to<std::size_t>;
  { A::name } -> std::convertible_to<const char*>;
  { A::numerics } -> std::convertible_to<const char*>;
};

}
