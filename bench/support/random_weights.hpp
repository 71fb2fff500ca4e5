// SPDX-License-Identifier: Apache-2.0
// Weights out of a generator, row by row, so that a benchmark's model needs no second copy in memory.
#pragma once
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "edgeq/format/formats.hpp"

namespace bench {

/// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xor chain per value, any seed.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

/// A WeightSource of uniform codes and scales of about 1/64, the size that keeps y near 1 for K = 2048.
template <edgeq::WeightFormat F>
struct RandomWeights {
  std::size_t n, k;
  std::size_t group = 0;  ///< for dynamic_group
  std::uint64_t seed = 1;

  edgeq::WeightShape shape() const {
    if (F::group > 0) return {n, k, static_cast<std::size_t>(F::group)};
    return {n, k, F::group == edgeq::dynamic_group ? group : k};
  }
  edgeq::Status validate() const { return edgeq::success(); }

  void read(std::size_t row, std::size_t r, typename F::Rows& rows) const noexcept {
    SplitMix64 random(seed * 0x9E3779B97F4A7C15u + row);
    const auto scale = [&] { return (1.0f + static_cast<float>(random() % 1024) / 1024.0f) / 64.0f; };
    const auto fill = [&](auto& codes, std::uint8_t maximum) {
      for (std::size_t i = 0; i < k;) {
        std::uint64_t bits = random();
        for (int byte = 0; byte < 8 && i < k; ++byte, bits >>= 8)
          codes[r * k + i++] = static_cast<std::uint8_t>(bits & maximum);
      }
    };
    if constexpr (requires { rows.values; }) {
      for (std::size_t i = 0; i < k; ++i)
        rows.values[r * k + i] = edgeq::from_float<typename F::Element>(scale() - 1.5f / 64.0f);
    } else if constexpr (requires { rows.factors; }) {
      fill(rows.codes, F::Codec::maximum);
      for (std::size_t i = r * rows.groups; i < (r + 1) * rows.groups; ++i)
        rows.factors[i] = {static_cast<int>(32 + random() % 32),
                           F::Offset::has_minima ? static_cast<int>(32 + random() % 32) : 0};
      for (std::size_t i = r * rows.blocks; i < (r + 1) * rows.blocks; ++i) {
        rows.scales[i] = edgeq::Float16::from_float(scale() / 48.0f);
        rows.minima[i] = edgeq::Float16::from_float(scale() / 6.0f);
      }
    } else if constexpr (requires { rows.zeros; } && !edgeq::codec::FloatCodec<typename F::Codec>) {
      using Scale = typename F::Scale;
      fill(rows.codes, F::Codec::maximum);
      for (std::size_t i = r * rows.groups; i < (r + 1) * rows.groups; ++i) {
        if constexpr (std::same_as<Scale, edgeq::E8M0>)
          rows.scales[i].bits = static_cast<std::uint8_t>(120 + random() % 3);
        else if constexpr (edgeq::StoredFloat<Scale>)
          rows.scales[i] = edgeq::from_float<Scale>(scale());
        else
          rows.scales[i] = Scale::from_float(scale());
        if constexpr (F::Offset::has_minima) rows.minima[i] = edgeq::from_float<Scale>(-8.0f * scale());
        rows.zeros[i] = static_cast<std::uint8_t>(random() & F::Codec::maximum);
      }
    } else {
      // Patterns of 8-bit floats, NaN and infinities left out.
      using Element = typename F::Element;
      for (std::size_t i = 0; i < k; ++i) {
        const std::uint64_t bits = random();
        const auto magnitude = static_cast<std::uint8_t>((bits >> 8) % Element::first_special);
        rows.codes[r * k + i] = static_cast<std::uint8_t>((bits & 0x80u) | magnitude);
      }
      for (std::size_t i = r * rows.groups; i < (r + 1) * rows.groups; ++i) rows.scales[i] = scale();
    }
  }
};

/// A shuffle of k columns, as act-order leaves them.
inline std::vector<std::uint32_t> shuffled_columns(std::size_t k, std::uint64_t seed) {
  std::vector<std::uint32_t> order(k);
  std::iota(order.begin(), order.end(), 0u);
  SplitMix64 random(seed);
  for (std::size_t i = k; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}
