// SPDX-License-Identifier: Apache-2.0
// The same skeletons on plain arrays: the fallback on any machine, and what the other kernels are compared
// with.
#pragma once
#include "edgeq/isa.hpp"
#include "edgeq/kernel/fused_multiply_add.hpp"
#include "edgeq/kernel/micro_kernel.hpp"
#include "edgeq/kernel/skeleton.hpp"

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE {
namespace generic {

struct Simd {
  static constexpr std::size_t lanes = 16;
  static constexpr std::size_t accumulators = 1;
  static constexpr std::size_t tile_rows = 1;
  struct Int {
    std::int32_t lane[lanes];
  };
  struct Float {
    float lane[lanes];
  };

  static void prefetch(const void*) noexcept {}

  template <class Result, class Function>
  static Result map(const Function& function) noexcept {
    Result result;
    for (std::size_t i = 0; i < lanes; ++i) result.lane[i] = function(i);
    return result;
  }
  /// int32 arithmetic wraps, as in every vector unit.
  static std::int32_t wrap(std::int64_t v) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(v));
  }

  static Int set1(std::int32_t v) noexcept {
    return map<Int>([&](std::size_t) { return v; });
  }
  static Int load_codes(const std::uint8_t* p) noexcept {
    return map<Int>([&](std::size_t i) { return load_word(p + 4 * i); });
  }
  static Int broadcast_4(const std::int8_t* p) noexcept { return set1(load_word(p)); }
  static Int widen_bytes(const std::uint8_t* p) noexcept {
    return map<Int>([&](std::size_t i) { return std::int32_t{p[i]}; });
  }
  static Int add(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return wrap(std::int64_t{a.lane[i]} + b.lane[i]); });
  }
  static Int subtract(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return wrap(std::int64_t{a.lane[i]} - b.lane[i]); });
  }
  static Int multiply(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return wrap(std::int64_t{a.lane[i]} * b.lane[i]); });
  }
  static Int max(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Int shift_left_8(const Int& a) noexcept {
    return map<Int>([&](std::size_t i) { return wrap(std::int64_t{a.lane[i]} * 256); });
  }
  static Int shift_right_8(const Int& a) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] >> 8; });
  }
  static std::int32_t reduce_add(const Int& a) noexcept {
    std::int64_t sum = 0;
    for (std::int32_t v : a.lane) sum += v;
    return wrap(sum);
  }
  static std::int32_t reduce_max(const Int& a) noexcept {
    std::int32_t largest = a.lane[0];
    for (std::int32_t v : a.lane) largest = v > largest ? v : largest;
    return largest;
  }
  static void store_bytes(std::int8_t* p, const Int& a) noexcept {
    for (std::size_t i = 0; i < lanes; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
  }

  template <class Codec, std::size_t I>
  static Int extract(const Int& codes) noexcept {
    return map<Int>([&](std::size_t i) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(codes.lane[i]) >> code_shift<Codec, I>) &
             Codec::maximum;
    });
  }
  template <class Codec, std::size_t Words>
  static void dot(Codec, Int& acc, const Int& codes, const Int (&x)[Words]) noexcept {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((acc = add(acc, multiply(extract<Codec, I>(codes), byte_of<I % 4>(x[I / 4])))), ...);
    }
    (std::make_index_sequence<Codec::k_per_line>{});
  }

  static Float set1(float v) noexcept {
    return map<Float>([&](std::size_t) { return v; });
  }
  static Float load_float(const float* p) noexcept {
    return map<Float>([&](std::size_t i) { return p[i]; });
  }
  static void store(float* p, const Float& a) noexcept { __builtin_memcpy(p, a.lane, sizeof(a.lane)); }
  static Float to_float(const Int& a) noexcept {
    return map<Float>([&](std::size_t i) { return static_cast<float>(a.lane[i]); });
  }
  /// To nearest even: FloatControl has set the mode.
  static Int round(const Float& a) noexcept {
    return map<Int>([&](std::size_t i) { return static_cast<std::int32_t>(__builtin_lrintf(a.lane[i])); });
  }
  static Float keep(const Float& a) noexcept { return a; }
  static Float add(const Float& a, const Float& b) noexcept {
    return map<Float>([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
  }
  static Float subtract(const Float& a, const Float& b) noexcept {
    return map<Float>([&](std::size_t i) { return a.lane[i] - b.lane[i]; });
  }
  static Float multiply(const Float& a, const Float& b) noexcept {
    return map<Float>([&](std::size_t i) { return a.lane[i] * b.lane[i]; });
  }
  static Float fma(const Float& a, const Float& b, const Float& c) noexcept {
    return map<Float>([&](std::size_t i) { return fused_multiply_add(a.lane[i], b.lane[i], c.lane[i]); });
  }
  static Int magnitude_bits(const float* p) noexcept {
    return map<Int>([&](std::size_t i) { return load_word(p + i) & 0x7FFFFFFF; });
  }
  template <StoredFloat Scale>
  static Float load_scale(const std::uint8_t* p) noexcept {
    return map<Float>([&](std::size_t i) { return load_stored<Scale>(p + i * sizeof(Scale)); });
  }
  template <StoredFloat T, std::size_t I>
  static Float load_weight(const std::uint8_t* line) noexcept {
    return map<Float>([&](std::size_t i) { return load_stored<T>(line + 4 * i + I * sizeof(T)); });
  }

 private:
  template <std::size_t I>
  static Int byte_of(const Int& words) noexcept {
    return map<Int>([&](std::size_t i) {
      return std::int32_t{
          static_cast<std::int8_t>(static_cast<std::uint32_t>(words.lane[i]) >> (8 * I) & 255u)};
    });
  }
  template <StoredFloat T>
  static float load_stored(const std::uint8_t* p) noexcept {
    T value;
    __builtin_memcpy(&value, p, sizeof(T));
    return edgeq::to_float(value);
  }
};

#include "edgeq/kernel/skeletons.inl"

}
EDGEQ_KERNELS_OF_SKELETONS(generic)
}
EDGEQ_PRECISE_END
