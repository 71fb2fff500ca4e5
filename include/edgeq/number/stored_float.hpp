// SPDX-License-Identifier: Apache-2.0
// The one spelling under which float, BFloat16 and Float16 serve as stored scales, minima, biases, weights,
// x and y.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "edgeq/number/bf16.hpp"
#include "edgeq/number/e8m0.hpp"
#include "edgeq/number/f16.hpp"
#include "edgeq/number/float8.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A float type in which scales, minima, biases and unquantized weights may be stored.
template <class T>
concept StoredFloat = std::same_as<T, float> || std::same_as<T, BFloat16> || std::same_as<T, Float16>;

/// A type in which the scales of groups may be stored: those, and the 8-bit scales of microscaling formats.
template <class T>
concept StoredScale = StoredFloat<T> || std::same_as<T, E8M0> || std::same_as<T, Float8E4M3>;

/// The exact float value of a stored one.
template <StoredScale T>
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

/// The same three types as values, for arguments that carry a pointer without its type.
enum class FloatType : std::uint8_t { f32, bf16, f16 };
template <StoredFloat T>
inline constexpr FloatType float_type = std::same_as<T, float>      ? FloatType::f32
                                        : std::same_as<T, BFloat16> ? FloatType::bf16
                                                                    : FloatType::f16;
constexpr std::size_t bytes_of(FloatType type) noexcept {
  return type == FloatType::f32 ? 4 : 2;
}

/// Calls function(T{}) with the type that `type` stands for.
template <class Function>
constexpr void with_float_type(FloatType type, const Function& function) {
  switch (type) {
    case FloatType::f32:
      return function(float{});
    case FloatType::bf16:
      return function(BFloat16{});
    case FloatType::f16:
      return function(Float16{});
  }
}

/// "f32", "bf16", "f16", "e8m0" or "e4m3".
template <StoredScale T>
constexpr const char* stored_float_name() noexcept {
  if constexpr (std::same_as<T, float>)
    return "f32";
  else
    return T::name;
}

}
