// SPDX-License-Identifier: Apache-2.0
// The loops between the linears: each within a derived distance of its formula in double, and the same bits
// on every instruction set.
#include "generate/vector_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using generate::AttentionTask;
using generate::position_step;
using generate::runnable_vector_math;
using generate::value_step;
using generate::vector_lanes;
using generate::VectorMath;
using Floats = std::vector<float>;

constexpr double u = 0x1p-24;  // the relative error of one rounding
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
// Around the lanes of a vector and the steps of the loops.
const std::vector<std::size_t> sizes{2, 14, 16, 18, 48, 64, 66, 80, 576, 1536};

Floats random_floats(std::size_t size, float scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  Floats values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Calls `compute(loops, y)` with every version, on y = `initial` and a guard behind it. All must agree to the
// bit and leave the guard alone; returns what they computed.
template <class Compute>
Floats on_all(const Floats& initial, const Compute& compute) {
  Floats first;
  for (const VectorMath* loops : runnable_vector_math()) {
    Floats y = initial;
    y.push_back(12345.0f);
    compute(*loops, y.data());
    EXPECT_EQ(y.back(), 12345.0f) << loops->name << " wrote past the end";
    y.pop_back();
    if (first.empty()) first = y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_TRUE(y[i] == first[i] || (std::isnan(y[i]) && std::isnan(first[i])))
          << loops->name << " differs at " << i << ": " << y[i] << " and " << first[i];
    }
  }
  return first;
}

TEST(VectorMath, ExponentialIsWithinTwoUlp) {
  Floats x;
  for (int i = -870000; i <= 880000; i += 7) x.push_back(static_cast<float>(i) * 1e-4f);
  for (const float edge : {-87.0f, -0.0f, 1e-30f, 88.0f, 0.34657359f, -0.34657359f}) x.push_back(edge);
  const Floats y =
      on_all(x, [&](const VectorMath& loops, float* out) { loops.exponential(x.data(), x.size(), out); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::exp(static_cast<double>(x[i]));
    EXPECT_LE(std::abs(y[i] - wanted), 4 * u * wanted) << x[i];
  }
}

TEST(VectorMath, ExponentialClampsAndKeepsNaN) {
  const float infinite = std::numeric_limits<float>::infinity();
  const Floats x{-infinite, -1e30f, -87.0f, 88.0f, 1e30f, infinite, nan_value};
  const Floats y =
      on_all(x, [&](const VectorMath& loops, float* out) { loops.exponential(x.data(), x.size(), out); });
  EXPECT_EQ(y[0], y[2]);
  EXPECT_EQ(y[1], y[2]);
  EXPECT_EQ(y[4], y[3]);
  EXPECT_EQ(y[5], y[3]);
  EXPECT_TRUE(std::isnan(y[6]));
}

TEST(VectorMath, RmsNorm) {
  for (const std::size_t size : sizes) {
    const Floats x = random_floats(size, 3, 1), weight = random_floats(size, 1, 2);
    const float epsilon = 1e-5f;
    const Floats y = on_all(x, [&](const VectorMath& loops, float* out) {
      loops.rms_norm(x.data(), weight.data(), size, epsilon, out);
    });
    double sum = 0;
    for (const float value : x) sum += static_cast<double>(value) * value;
    const double factor = 1 / std::sqrt(sum / static_cast<double>(size) + epsilon);
    // A square passes at most size / 64 sums, 3 more of the tail and 6 to join the lanes; the root halves
    // that error. Then mean, epsilon, root, reciprocal and two products round once each.
    const double bound = (static_cast<double>(size) / 64 + 10) / 2 + 6;
    for (std::size_t i = 0; i < size; ++i) {
      const double wanted = x[i] * factor * weight[i];
      EXPECT_LE(std::abs(y[i] - wanted), bound * u * std::abs(wanted)) << size << ", " << i;
    }
  }
}

TEST(VectorMath, RotatesPairs) {
  for (const std::size_t size : sizes) {
    const Floats x = random_floats(size, 1, 3);
    Floats cosines(size), sines(size);
    for (std::size_t i = 0; i < size; i += 2) {
      const float angle = 0.1f * static_cast<float>(i + 1);
      cosines[i] = cosines[i + 1] = std::cos(angle);
      sines[i + 1] = std::sin(angle);
      sines[i] = -sines[i + 1];
    }
    const Floats y = on_all(x, [&](const VectorMath& loops, float* out) {
      loops.rotate_pairs(out, cosines.data(), sines.data(), size);
    });
    for (std::size_t i = 0; i < size; i += 2) {
      const double c = cosines[i], s = sines[i + 1], a = x[i], b = x[i + 1];
      // Two products and their sum round once each.
      EXPECT_LE(std::abs(y[i] - (a * c - b * s)), 2 * u * (std::abs(a * c) + std::abs(b * s)));
      EXPECT_LE(std::abs(y[i + 1] - (a * s + b * c)), 2 * u * (std::abs(a * s) + std::abs(b * c)));
    }
  }
}

TEST(VectorMath, RotatesHalves) {
  for (const std::size_t size : sizes) {
    const std::size_t half = size / 2;
    const Floats x = random_floats(size, 1, 3);
    Floats cosines(size), sines(size);
    for (std::size_t i = 0; i < half; ++i) {
      const float angle = 0.1f * static_cast<float>(i + 1);
      cosines[i] = cosines[i + half] = std::cos(angle);
      sines[i + half] = std::sin(angle);
      sines[i] = -sines[i + half];
    }
    const Floats y = on_all(x, [&](const VectorMath& loops, float* out) {
      loops.rotate_halves(out, cosines.data(), sines.data(), size);
    });
    for (std::size_t i = 0; i < half; ++i) {
      const double c = cosines[i], s = sines[i + half], a = x[i], b = x[i + half];
      // Two products and their sum round once each.
      EXPECT_LE(std::abs(y[i] - (a * c - b * s)), 2 * u * (std::abs(a * c) + std::abs(b * s)));
      EXPECT_LE(std::abs(y[i + half] - (a * s + b * c)), 2 * u * (std::abs(a * s) + std::abs(b * c)));
    }
  }
}

TEST(VectorMath, SwiGlu) {
  for (const std::size_t size : sizes) {
    const Floats gate = random_floats(size, 8, 4), up = random_floats(size, 2, 5);
    const Floats y = on_all(
        gate, [&](const VectorMath& loops, float* out) { loops.swiglu(gate.data(), up.data(), size, out); });
    for (std::size_t i = 0; i < size; ++i) {
      const double wanted = gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i];
      // exp: 4 u at most, of which the sum passes on no more; then sum, quotient and product round once each.
      EXPECT_LE(std::abs(y[i] - wanted), (7 + 1e-3) * u * std::abs(wanted)) << gate[i];
    }
  }
}

TEST(VectorMath, SwiGluOfGreatNegativesIsAlmostNothing) {
  const Floats gate{-100, -1e4f}, up{1, 1};
  const Floats y = on_all(
      gate, [&](const VectorMath& loops, float* out) { loops.swiglu(gate.data(), up.data(), 2, out); });
  // exp is clamped to exp(88) = 1.65e38: the quotient is 6.1e-37 for 100.
  EXPECT_NEAR(y[0], 0, 7e-37);
  EXPECT_NEAR(y[1], 0, 7e-35);
}

TEST(VectorMath, GeGlu) {
  for (const std::size_t size : sizes) {
    const Floats gate = random_floats(size, 2, 4), up = random_floats(size, 2, 5);
    const Floats y = on_all(
        gate, [&](const VectorMath& loops, float* out) { loops.geglu(gate.data(), up.data(), size, out); });
    for (std::size_t i = 0; i < size; ++i) {
      const double g = gate[i];
      const double t = std::sqrt(2 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
      const double wanted = g / (1 + std::exp(-2 * t)) * up[i];  // = g / 2 * (1 + tanh(t)) * up
      // 2t: two constants, three products and a sum, of one sign; its error is that of exp, relative. The
      // rest is as in SwiGlu. Beyond exp(-87) the result counts as 0.
      const double bound = (6 * 2 * std::abs(t) + 7 + 1e-3) * u * std::abs(wanted);
      EXPECT_LE(std::abs(y[i] - wanted), bound + 1e-36) << gate[i];
    }
  }
}

TEST(VectorMath, GeGluAtItsEnds) {
  const Floats gate{-100, -1e4f, -1e30f, 0, 1e4f, 1e30f}, up{1, 1, 1, 1, 1, 1};
  const Floats y = on_all(gate, [&](const VectorMath& loops, float* out) {
    loops.geglu(gate.data(), up.data(), gate.size(), out);
  });
  // exp is clamped to exp(88) = 1.65e38, and to exp(-87).
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], 0, -gate[i] * 7e-39);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 1e4f);
  EXPECT_EQ(y[5], 1e30f);
}

TEST(VectorMath, Add) {
  for (const std::size_t size : sizes) {
    const Floats a = random_floats(size, 1, 6), b = random_floats(size, 1, 7);
    const Floats y = on_all(a, [&](const VectorMath& loops, float* out) { loops.add(out, b.data(), size); });
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(y[i], a[i] + b[i]);
  }
}

// Queries, keys and values in the cache's layout, with NaN where nothing may be read that counts.
struct AttentionCase {
  std::size_t positions, head_size, skipped = 0;
  std::size_t room = (positions + position_step - 1) / position_step * position_step;
  std::size_t value_stride = (head_size + value_step - 1) / value_step * value_step;
  float scale = 1 / std::sqrt(static_cast<float>(head_size));
  Floats query = random_floats(head_size, 2, 8), k = random_floats(positions * head_size, 2, 9),
         v = random_floats(positions * head_size, 1, 10);

  Floats compute() const {
    Floats keys(room * head_size, nan_value), values(room * value_stride, nan_value), scores(room);
    for (std::size_t p = skipped; p < positions; ++p) {
      for (std::size_t d = 0; d < value_stride; ++d)
        values[p * value_stride + d] = d < head_size ? v[p * head_size + d] : 0;
      for (std::size_t d = 0; d < head_size; ++d)
        keys[(p / vector_lanes * head_size + d) * vector_lanes + p % vector_lanes] = k[p * head_size + d];
    }
    return on_all(Floats(head_size), [&](const VectorMath& loops, float* out) {
      loops.attend({.query = query.data(),
                    .keys = keys.data(),
                    .values = values.data(),
                    .positions = positions,
                    .skipped = skipped,
                    .head_size = head_size,
                    .value_stride = value_stride,
                    .scale = scale,
                    .scores = scores.data(),
                    .result = out});
    });
  }

  void check() const {
    std::vector<double> scores(positions), errors(positions);
    double greatest = -1e300, lowest = 1e300;
    for (std::size_t p = skipped; p < positions; ++p) {
      double magnitude = 0;
      for (std::size_t d = 0; d < head_size; ++d) {
        const double product = static_cast<double>(query[d]) * k[p * head_size + d] * scale;
        scores[p] += product;
        magnitude += std::abs(product);
      }
      // A product passes at most head_size / 2 sums (and one more of the tail), joins the other half, is
      // scaled.
      errors[p] = (static_cast<double>(head_size) / 2 + 4) * u * magnitude;
      greatest = std::max(greatest, scores[p]);
      lowest = std::min(lowest, scores[p]);
    }
    const double score_error = *std::max_element(errors.begin(), errors.end());
    // Of a weight: the errors of its score and of the greatest, their difference's rounding, exp.
    const double weight_error = 2 * score_error + (greatest - lowest) * u + 4 * u;
    const auto count = static_cast<double>(positions);
    // The numerator has count / 2 + 3 roundings, the denominator count / 16 + 5, the quotient one; both carry
    // the weights' error. Second-order terms are below one percent.
    const double bound = 1.01 * (2 * weight_error + (count / 2 + 3 + count / 16 + 5 + 1) * u);

    const Floats result = compute();
    double total = 0;
    for (std::size_t p = skipped; p < positions; ++p) total += std::exp(scores[p] - greatest);
    for (std::size_t d = 0; d < head_size; ++d) {
      double wanted = 0, magnitude = 0;
      for (std::size_t p = skipped; p < positions; ++p) {
        const double weighted = std::exp(scores[p] - greatest) / total * v[p * head_size + d];
        wanted += weighted;
        magnitude += std::abs(weighted);
      }
      EXPECT_LE(std::abs(result[d] - wanted), bound * magnitude)
          << positions << ", " << head_size << ", " << d;
    }
  }
};

TEST(VectorMath, Attention) {
  using Sizes = std::vector<std::size_t>;
  for (const std::size_t positions : Sizes{1, 2, 15, 16, 17, 31, 32, 33, 100, 257})
    for (const std::size_t head_size : Sizes{7, 16, 64, 80, 128}) AttentionCase{positions, head_size}.check();
}

TEST(VectorMath, AttentionSkipsTheFirstPositions) {
  using Sizes = std::vector<std::size_t>;
  for (const std::size_t positions : Sizes{2, 16, 17, 31, 33, 40, 257})
    for (const std::size_t skipped : Sizes{1, 15, 16, 17, 30, 31})
      if (skipped < positions) AttentionCase{positions, 80, skipped}.check();
}

}
