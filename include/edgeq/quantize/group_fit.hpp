// SPDX-License-Identifier: Apache-2.0
// The scale and the zero or minimum under which the floats of one group lose least when they become codes.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "edgeq/format/group_quantized.hpp"

namespace edgeq::inline EDGEQ_BASELINE::quantize {

/// How a scale is found.
enum class Search {
  extremes,       ///< the largest and smallest float are representable
  squared_error,  ///< also tries smaller ranges, and keeps the one with the least sum of squared errors
};

/// What turns a float of a group into a code of F and back.
template <class F>
struct GroupParameters {
  typename F::Scale scale{};
  typename F::Scale minimum{};    ///< for offset::FloatMinimum
  int zero = F::Codec::midpoint;  ///< for offset::IntegerZero

  float decode(int code) const noexcept { return F::value(code, scale, minimum, zero); }
  /// The code whose value is nearest, but for rounding in float. What is not finite is taken as 0.
  int encode(float value) const noexcept {
    if (!std::isfinite(value)) value = 0.0f;
    const float unit = to_float(scale);
    const float from = F::Offset::has_minima ? to_float(minimum) : 0.0f;
    const float steps = unit == 0.0f ? 0.0f : std::nearbyint((value - from) / unit);
    const auto offset = static_cast<float>(F::Offset::has_minima ? 0 : zero);
    return static_cast<int>(std::clamp(steps + offset, 0.0f, static_cast<float>(F::Codec::maximum)));
  }
};

/// Formats whose codes count steps from a midpoint, an integer zero or a float minimum.
template <class F>
concept FittedFormat =
    F::is_integer && !codec::Codebook<typename F::Codec> && StoredFloat<typename F::Scale> &&
    (!F::Offset::from_midpoint || !F::Offset::has_minima);

namespace detail {

/// No weight becomes larger than this, whatever a stored scale is rounded to: 2^-7 below the end of float's
/// range leaves room for the eight bits of a BFloat16, four steps more than a range has for the rounding of
/// its zero.
inline constexpr float largest_weight = 0x1.FCp127f;

/// The nearest stored number of at most `largest` in magnitude.
template <StoredFloat Scale>
Scale bounded(float value, float largest) noexcept {
  if (std::same_as<Scale, Float16>) largest = std::min(largest, 65504.0f);
  return from_float<Scale>(std::clamp(value, -largest, largest));
}

template <class F>
double squared_error(std::span<const float> values, const GroupParameters<F>& p) noexcept {
  double sum = 0.0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double error = double{value} - double{p.decode(p.encode(value))};
    sum += error * error;
  }
  return sum;
}

/// Symmetric parameters for floats between -largest and largest in magnitude `extreme` (with its sign): the
/// extreme becomes code 0, the only one without a counterpart of the other sign, so all codes are used.
template <class F>
GroupParameters<F> symmetric_parameters(float extreme) noexcept {
  GroupParameters<F> p;
  constexpr auto steps = static_cast<float>(F::Codec::midpoint);
  p.scale = bounded<typename F::Scale>(-extreme / steps, largest_weight / steps);
  return p;
}

/// Parameters under which `low` becomes code 0 and `high` the last code, as nearly as the stored types can.
template <class F>
GroupParameters<F> offset_parameters(float low, float high) noexcept {
  GroupParameters<F> p;
  constexpr auto steps = static_cast<float>(F::Codec::maximum);
  const float half_range = high * 0.5f - low * 0.5f;  // of finite floats, finite
  p.scale = bounded<typename F::Scale>(half_range / steps * 2.0f, largest_weight / (steps + 4.0f) * 2.0f);
  if constexpr (F::Offset::has_minima) {
    p.minimum = bounded<typename F::Scale>(low, largest_weight);
  } else {
    const float unit = to_float(p.scale);
    const float zero = unit == 0.0f ? 0.0f : std::nearbyint(-low / unit);
    p.zero = static_cast<int>(std::clamp(zero, 0.0f, static_cast<float>(F::Codec::maximum)));
  }
  return p;
}

}

/// Parameters for the finite floats of one group. All-zero groups have scale 1 and decode to 0. With
/// Search::squared_error the range shrinks in 32 steps down to 0.36 of its size, for symmetric codes with the
/// extreme at either end. Refuses nothing: what is not finite is taken as 0.
template <class F>
requires FittedFormat<F> GroupParameters<F> fit(std::span<const float> values, Search search)
noexcept {
  constexpr bool is_symmetric = !F::Offset::has_zeros && !F::Offset::has_minima;
  // 0 is always representable, except beside a minimum, which is worth more without it.
  float low = F::Offset::has_minima ? detail::largest_weight : 0.0f, high = -low;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 0.0f;  // nothing is finite
  low = std::clamp(low, -detail::largest_weight, detail::largest_weight);
  high = std::clamp(high, -detail::largest_weight, detail::largest_weight);
  if (low == 0.0f && high == 0.0f) {
    GroupParameters<F> p;
    p.scale = from_float<typename F::Scale>(1.0f);
    return p;
  }
  const auto parameters = [&](float shrink, bool other_end) {
    if constexpr (is_symmetric) {
      const float extreme = -low > high ? low : high;
      return detail::symmetric_parameters<F>((other_end ? -extreme : extreme) * shrink);
    } else {
      // Shrinks towards the middle of the range, or towards 0 where a zero must be a code.
      const float middle = F::Offset::has_minima ? low * 0.5f + high * 0.5f : 0.0f;
      return detail::offset_parameters<F>(middle + (low - middle) * shrink,
                                          middle + (high - middle) * shrink);
    }
  };
  GroupParameters<F> best = parameters(1.0f, false);
  if (search == Search::extremes) return best;
  double least = detail::squared_error(values, best);
  for (int step = 0; step < 33; ++step)
    for (const bool other_end : {false, true}) {
      if (other_end && !is_symmetric) continue;
      const GroupParameters<F> p = parameters(1.0f - 0.02f * static_cast<float>(step), other_end);
      const double error = detail::squared_error(values, p);
      if (error < least) {
        least = error;
        best = p;
      }
    }
  return best;
}

}
