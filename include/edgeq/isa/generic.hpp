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
// In a namespace of their own: skeletons over these types elsewhere must not find generic's functions by
// their arguments.
namespace plain {
struct Int {
  std::int32_t lane[16];
};
struct Float {
  float lane[16];
};
}

namespace generic {

struct Simd {
  static constexpr std::size_t lanes = 16;
  static constexpr std::size_t accumulators = 1;
  static constexpr std::size_t tile_rows = 1;
  template <int>
  static constexpr int subtracted = 0;
  using Int = plain::Int;
  using Float = plain::Float;

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
  static Int min(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Int bit_and(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] & b.lane[i]; });
  }
  static Int bit_or(const Int& a, const Int& b) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] | b.lane[i]; });
  }
  static Int high_nibbles(const Int& a) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] >> 4 & 0x0F0F0F0F; });
  }
  template <int Count>
  static Int shift_left(const Int& a) noexcept {
    return map<Int>([&](std::size_t i) { return wrap(std::int64_t{a.lane[i]} << Count); });
  }
  template <int Count>
  static Int shift_right(const Int& a) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] >> Count; });
  }
  static Int shift_right_by(const Int& a, int count) noexcept {
    return map<Int>([&](std::size_t i) { return a.lane[i] >> count; });
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

  static Int broadcast_16(const std::uint8_t* p) noexcept {
    return map<Int>([&](std::size_t i) { return load_word(p + i % 4 * 4); });
  }
  static Int lookup_bytes(const Int& table, const Int& indices) noexcept {
    std::uint8_t entries[lanes * 4], bytes[lanes * 4];
    __builtin_memcpy(entries, table.lane, sizeof(entries));
    __builtin_memcpy(bytes, indices.lane, sizeof(bytes));
    for (std::uint8_t& byte : bytes) byte = entries[byte & 15];
    return load_codes(bytes);
  }
  template <int, std::size_t Words>
  static void dot(Int& acc, const Int (&values)[Words], const Int (&x)[Words]) noexcept {
    for (std::size_t w = 0; w < Words; ++w)
      for (std::size_t i = 0; i < lanes; ++i)
        for (int shift = 0; shift < 32; shift += 8) {
          const auto value =
              static_cast<std::uint8_t>(static_cast<std::uint32_t>(values[w].lane[i]) >> shift);
          const auto code = static_cast<std::int8_t>(static_cast<std::uint32_t>(x[w].lane[i]) >> shift);
          acc.lane[i] = wrap(std::int64_t{acc.lane[i]} + value * code);
        }
  }

  static Float set1(float v) noexcept {
    return map<Float>([&](std::size_t) { return v; });
  }
  static Int bits(const Float& a) noexcept {
    return map<Int>([&](std::size_t i) { return __builtin_bit_cast(std::int32_t, a.lane[i]); });
  }
  static Float from_bits(const Int& a) noexcept {
    return map<Float>([&](std::size_t i) { return __builtin_bit_cast(float, a.lane[i]); });
  }
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
  static Float min(const Float& a, const Float& b) noexcept {
    return map<Float>([&](std::size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static Float divide(const Float& a, const Float& b) noexcept {
    return map<Float>([&](std::size_t i) { return a.lane[i] / b.lane[i]; });
  }
  static Float clamp(const Float& a, float low, float high) noexcept {
    return map<Float>([&](std::size_t i) {
      return a.lane[i] < low ? low : a.lane[i] > high ? high : a.lane[i];
    });
  }
  static Int bf16_bits(const Float& a) noexcept {
    return map<Int>(
        [&](std::size_t i) { return wrap(std::int64_t{BFloat16::from_float(a.lane[i]).bits} << 16); });
  }
  static Float lookup(const float* table, const Int& index) noexcept {
    return map<Float>([&](std::size_t i) { return table[index.lane[i] & 15]; });
  }
  template <StoredFloat T>
  static Float load_stored(const void* p) noexcept {
    return map<Float>([&](std::size_t i) { return element<T>(p, i * sizeof(T)); });
  }
  template <StoredFloat T>
  static void store_stored(void* p, const Float& a) noexcept {
    T values[lanes];
    for (std::size_t i = 0; i < lanes; ++i) values[i] = from_float<T>(a.lane[i]);
    __builtin_memcpy(p, values, sizeof(values));
  }
  template <StoredFloat T, std::size_t I>
  static Float load_weight(const std::uint8_t* line) noexcept {
    return map<Float>([&](std::size_t i) { return element<T>(line, 4 * i + I * sizeof(T)); });
  }

 private:
  template <StoredFloat T>
  static float element(const void* p, std::size_t offset) noexcept {
    T value;
    __builtin_memcpy(&value, static_cast<const std::byte*>(p) + offset, sizeof(T));
    return edgeq::to_float(value);
  }
};

#include "edgeq/kernel/skeletons.inl"

}
EDGEQ_INTEGER_KERNELS_OF_SKELETONS(generic)
EDGEQ_FLOAT_KERNELS_OF_SKELETONS(generic)
}
EDGEQ_PRECISE_END
