// SPDX-License-Identifier: Apache-2.0
// Scalars as files have them: little-endian, at any address. On a little-endian machine these are plain
// copies.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// What a file may hold as one scalar: a number, or a struct around one, such as BFloat16.
template <class T>
concept FileScalar = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

/// Copies `count` scalars out of a file's bytes, or into them: the same reversal.
template <FileScalar T>
void copy_little_endian(void* to, const void* from, std::size_t count) noexcept {
  if (count == 0) return;
  std::memcpy(to, from, count * sizeof(T));
  if constexpr (std::endian::native != std::endian::little && sizeof(T) > 1) {
    auto* bytes = static_cast<std::uint8_t*>(to);
    for (std::size_t i = 0; i < count; ++i) std::reverse(bytes + i * sizeof(T), bytes + (i + 1) * sizeof(T));
  }
}

/// The scalar whose bytes begin at `from`.
template <FileScalar T>
T load_little_endian(const void* from) noexcept {
  T value;
  copy_little_endian<T>(&value, from, 1);
  return value;
}

/// Puts a scalar's bytes at `to`.
template <FileScalar T>
void store_little_endian(void* to, T value) noexcept {
  copy_little_endian<T>(to, &value, 1);
}

}
