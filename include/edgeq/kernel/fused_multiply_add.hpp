// SPDX-License-Identifier: Apache-2.0
// a * b + c with one rounding, in plain C++, whatever the target and the flags.
#pragma once
#include <cstdint>

#include "edgeq/config.hpp"

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE {

/// The fused multiply-add of floats. Not std::fma: Clang splits that one under -ffast-math whatever the
/// pragmas say, and elsewhere it is a call.
///
/// Without the instruction, the sum is rounded to odd in double: toward zero, then the last bit set if that
/// was inexact. The product of two floats has 48 bits and is exact, two-sum gives the error of the sum, and
/// 53 bits rounded to odd, then to the 24 or fewer of a float, are as if rounded once (Boldo and Melquiond
/// 2008). An error that points toward zero says that the sum was rounded away from it: the truncated value is
/// the pattern minus one. A sum that is infinite or NaN has an error that is NaN, and stays.
inline float fused_multiply_add(float a, float b, float c) noexcept {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  const double product = double{a} * double{b}, addend = c, sum = product + addend, added = sum - product;
  const double error = (product - (sum - added)) + (addend - added);
  if (!(error > 0.0 || error < 0.0)) return static_cast<float>(sum);
  const auto bits = __builtin_bit_cast(std::uint64_t, sum);
  const std::uint64_t opposite = (bits ^ __builtin_bit_cast(std::uint64_t, error)) >> 63;
  return static_cast<float>(__builtin_bit_cast(double, (bits - opposite) | 1));
#endif
}

}
EDGEQ_PRECISE_END
