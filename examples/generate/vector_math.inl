// SPDX-License-Identifier: Apache-2.0
// The loops of vector_math.hpp on sixteen lanes: included once in each target region, in a namespace of its
// own.

typedef float Lanes __attribute__((vector_size(vector_lanes * sizeof(float))));
typedef std::int32_t Bits __attribute__((vector_size(vector_lanes * sizeof(float))));

// Vectors travel by reference: by value their calling convention would depend on the target.
EDGEQ_INLINE void load(Lanes& v, const float* from) {
  std::memcpy(&v, from, sizeof v);
}
EDGEQ_INLINE void store(float* to, const Lanes& v) {
  std::memcpy(to, &v, sizeof v);
}
// `count` floats, at most sixteen; the other lanes are 0.
EDGEQ_INLINE void load(Lanes& v, const float* from, std::size_t count) {
  if (count >= vector_lanes) return load(v, from);
  float part[vector_lanes] = {};
  std::memcpy(part, from, count * sizeof(float));
  load(v, part);
}
EDGEQ_INLINE void store(float* to, const Lanes& v, std::size_t count) {
  if (count >= vector_lanes) return store(to, v);
  float part[vector_lanes];
  store(part, v);
  std::memcpy(to, part, count * sizeof(float));
}
EDGEQ_INLINE void fill(Lanes& v, float value) {
  v = Lanes{} + value;
}
EDGEQ_INLINE float sum_of(const Lanes& v) {
  float lane[vector_lanes];
  store(lane, v);
  for (std::size_t width = vector_lanes / 2; width != 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
}
EDGEQ_INLINE float greatest_of(const Lanes& v) {
  float lane[vector_lanes];
  store(lane, v);
  for (std::size_t i = 1; i < vector_lanes; ++i) lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
  return lane[0];
}

// exp(x) = 2^n * exp(r) with n = round(x / ln 2), so |r| <= ln(2) / 2 (and a rounding error) = 0.3466.
//
// Error, in units of u = 2^-24 relative to exp(x): n * ln2_high is exact (7 bits times 15 bits), and so is its
// difference from x; the difference with n * ln2_low rounds r by at most 0.35 u, and the error of ln2_low, 2^-45
// times n, is 2^-14 u. Taylor's series up to r^7 leaves out 0.3466^8 / 8! * 1.42 = 7.4e-9 = 0.13 u. A step of
// Horner's scheme, p = p * r + c, rounds a product and a sum: the last step adds 1.8 u where r is negative and
// p0 = 0.71 (1.3 u where it is positive), the one before 1.4 u * 0.35 / 0.71, the others together 0.4 u. Scaling
// by 2^n is exact. The sum is less than 4 u = 2 ulp.
EDGEQ_INLINE void exponential(Lanes& y, const Lanes& argument) {
  constexpr float log2_e = 1.44269504f;
  constexpr float ln2_high = 0x1.62e4p-1f;           // the first 15 bits of ln 2
  constexpr float ln2_low = 0x1.7f7d1cp-20f;         // ln 2 - ln2_high
  constexpr float lowest = -87.0f, highest = 88.0f;  // n in -126 .. 127: 2^n and the result are normal
  // Added to a small number, it rounds it to an integer, which is then the low bits of the sum.
  constexpr float to_integer = 0x1.8p23f;

  Lanes low, high;
  fill(low, lowest);
  fill(high, highest);
  Lanes x = argument < low ? low : argument;  // NaN is not less: it stays
  x = x > high ? high : x;
  const Lanes shifted = x * log2_e + to_integer;
  const Lanes n = shifted - to_integer;
  const Lanes r = (x - n * ln2_high) - n * ln2_low;
  Lanes p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  Bits exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  exponent = (exponent << 23) + (127 << 23);  // the low bits of `shifted` become the exponent of 2^n
  Lanes power;
  std::memcpy(&power, &exponent, sizeof power);
  y = p * power;
}

static void exponential_of(const float* x, std::size_t size, float* y) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    Lanes v;
    load(v, x + i, size - i);
    exponential(v, v);
    store(y + i, v, size - i);
  }
}

static void rms_norm(const float* x, const float* weight, std::size_t size, float epsilon, float* y) {
  Lanes sums[4] = {};
  for (std::size_t i = 0; i < size; i += 4 * vector_lanes) {
    EDGEQ_FOR (j, 4) {
      const std::size_t first = i + j * vector_lanes;
      if (first >= size) break;
      Lanes v;
      load(v, x + first, size - first);
      sums[j] += v * v;
    }
  }
  const float mean = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<float>(size);
  const float factor = 1.0f / std::sqrt(mean + epsilon);
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    Lanes v, w;
    load(v, x + i, size - i);
    load(w, weight + i, size - i);
    store(y + i, v * factor * w, size - i);
  }
}

EDGEQ_INLINE void swap_pairs(Lanes& v) {
#if defined(__clang__)
  v = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#else
  v = __builtin_shuffle(v, Bits{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14});
#endif
}

static void rotate_pairs(float* x, const float* cosines, const float* sines, std::size_t size) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    Lanes v, c, s;
    load(v, x + i, size - i);
    load(c, cosines + i, size - i);
    load(s, sines + i, size - i);
    Lanes swapped = v;
    swap_pairs(swapped);
    store(x + i, v * c + swapped * s, size - i);
  }
}

static void swiglu(const float* gate, const float* up, std::size_t size, float* y) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    Lanes g, u, e;
    load(g, gate + i, size - i);
    load(u, up + i, size - i);
    exponential(e, -g);
    store(y + i, g / (e + 1.0f) * u, size - i);
  }
}

static void add(float* y, const float* x, std::size_t size) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    Lanes a, b;
    load(a, y + i, size - i);
    load(b, x + i, size - i);
    store(y + i, a + b, size - i);
  }
}

// Fills the scores of all positions; returns the greatest. Four sums, of every fourth element of the head,
// because a sum waits for the one before it.
EDGEQ_INLINE float score(const AttentionTask& t) {
  Lanes greatest;
  fill(greatest, -std::numeric_limits<float>::infinity());
  for (std::size_t p = 0; p < t.positions; p += vector_lanes) {
    const float* keys = t.keys + p * t.head_size;
    Lanes sums[4] = {};
    for (std::size_t d = 0; d < t.head_size; d += 4) {
      EDGEQ_FOR (j, 4) {
        if (d + j >= t.head_size) break;
        Lanes k;
        load(k, keys + (d + j) * vector_lanes);
        sums[j] += k * t.query[d + j];
      }
    }
    Lanes s = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * t.scale;
    for (std::size_t lane = t.positions - p; lane < vector_lanes; ++lane)
      s[lane] = -std::numeric_limits<float>::infinity();
    greatest = s > greatest ? s : greatest;
    store(t.scores + p, s);
  }
  return greatest_of(greatest);
}

// Turns the scores into exp(score - greatest); returns their sum.
EDGEQ_INLINE float weigh(const AttentionTask& t, float greatest) {
  Lanes sum = {};
  for (std::size_t p = 0; p < t.positions; p += vector_lanes) {
    Lanes w;
    load(w, t.scores + p);
    exponential(w, w - greatest);
    for (std::size_t lane = t.positions - p; lane < vector_lanes; ++lane) w[lane] = 0;
    sum += w;
    store(t.scores + p, w);
  }
  return sum_of(sum);
}

static void attend(const AttentionTask& t) {
  const float total = weigh(t, score(t));
  for (std::size_t d = 0; d < t.head_size; d += value_step) {
    Lanes sums[value_step / vector_lanes] = {};
    const float* row = t.values + d;
    std::size_t p = 0;
    for (; p + 2 <= t.positions; p += 2, row += 2 * t.value_stride) {
      EDGEQ_FOR (j, value_step / vector_lanes) {
        Lanes first, second;
        load(first, row + j * vector_lanes);
        load(second, row + t.value_stride + j * vector_lanes);
        sums[j] += first * t.scores[p] + second * t.scores[p + 1];
      }
    }
    if (p < t.positions) {
      EDGEQ_FOR (j, value_step / vector_lanes) {
        Lanes v;
        load(v, row + j * vector_lanes);
        sums[j] += v * t.scores[p];
      }
    }
    for (std::size_t j = 0; j < value_step / vector_lanes; ++j) {
      const std::size_t first = d + j * vector_lanes;
      if (first < t.head_size) store(t.result + first, sums[j] / total, t.head_size - first);
    }
  }
}
