// SPDX-License-Identifier: Apache-2.0
// The one spelling under which float, BFloat16 and Float16 serve as stored scales, minima, biases and
// weights.
#pragma once
#include <concepts>

#include "edgeq/number/bf16.hpp"
#include "edgeq/number/f16.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A float type in which scales, minima, biases and unquantized weights may be stored.
template <class T>
concept StoredFloat = std::same_as<T, float> || std::same_as<T, BFloat16> || std::same_as<T, Float16>;

/// The exact float value of a stored one.
template <StoredFloat T>
constexpr float to_float(T value) noexcept {
  if constexpr (std::same_as<T, float>)
    return value;
  else
    return value.to_float();
}

/// The stored value nearest to a float (ties to even).
template <StoredFloat T>
constexpr T from_float(float value) noexcept {
  if constexpr (std::same_as<T, float>)
    return value;
  else
    return T::from_float(value);
}

/// "f32", "bf16" or "f16".
template <StoredFloat T>
constexpr const char* stored_float_name() noexcept {
  if constexpr (std::same_as<T, float>)
    return "f32";
  else
    return T::name;
}

}
