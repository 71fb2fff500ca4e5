// SPDX-License-Identifier: Apache-2.0
// The loops of vector_math.hpp on sixteen lanes: included once in each target region, in a namespace of its
// own.

// GENERATE_VECTOR_BYTES is the width of the target's registers. (Compilers do split wider vectors, but
// through memory.)
typedef float Floats __attribute__((vector_size(GENERATE_VECTOR_BYTES)));
typedef std::int32_t Integers __attribute__((vector_size(GENERATE_VECTOR_BYTES)));

struct Lanes {
  static constexpr std::size_t width = sizeof(Floats) / sizeof(float), parts = vector_lanes / width;
  Floats part[parts];
};

EDGEQ_INLINE Lanes load(const float* from) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) std::memcpy(&v.part[i], from + i * Lanes::width, sizeof(Floats));
  return v;
}
EDGEQ_INLINE void store(float* to, const Lanes& v) {
  EDGEQ_FOR (i, Lanes::parts) std::memcpy(to + i * Lanes::width, &v.part[i], sizeof(Floats));
}
// `count` floats, if they are less than sixteen; the other lanes are 0.
EDGEQ_INLINE Lanes load(const float* from, std::size_t count) {
  if (count >= vector_lanes) return load(from);
  float part[vector_lanes] = {};
  std::memcpy(part, from, count * sizeof(float));
  return load(part);
}
EDGEQ_INLINE void store(float* to, const Lanes& v, std::size_t count) {
  if (count >= vector_lanes) return store(to, v);
  float part[vector_lanes];
  store(part, v);
  std::memcpy(to, part, count * sizeof(float));
}
EDGEQ_INLINE Lanes all(float value) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts)
    v.part[i] = value - Floats{};  // exact for every value, so no operation is left of it
  return v;
}

EDGEQ_INLINE Lanes operator+(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] + b.part[i];
  return v;
}
EDGEQ_INLINE Lanes operator-(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] - b.part[i];
  return v;
}
EDGEQ_INLINE Lanes operator*(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] * b.part[i];
  return v;
}
EDGEQ_INLINE Lanes operator/(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] / b.part[i];
  return v;
}
// The greater; b where either is NaN.
EDGEQ_INLINE Lanes greater(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
  return v;
}
// The lesser; b where either is NaN.
EDGEQ_INLINE Lanes lesser(const Lanes& a, const Lanes& b) {
  Lanes v;
  EDGEQ_FOR (i, Lanes::parts) v.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
  return v;
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
// Error, in units of u = 2^-24 relative to exp(x): n * ln2_high is exact (7 bits times 15 bits), and so is
// its difference from x; the difference with n * ln2_low rounds r by at most 0.35 u, and the error of
// ln2_low, 2^-45 times n, is 2^-14 u. Taylor's series up to r^7 leaves out 0.3466^8 / 8! * 1.42 = 7.4e-9 =
// 0.13 u. A step of Horner's scheme, p = p * r + c, rounds a product and a sum: the last step adds 1.8 u
// where r is negative and p0 = 0.71 (1.3 u where it is positive), the one before 1.4 u * 0.35 / 0.71, the
// others together 0.4 u. Scaling by 2^n is exact. The sum is less than 4 u = 2 ulp.
EDGEQ_INLINE Lanes exponential(const Lanes& argument) {
  constexpr float ln2_high = 0x1.62e4p-1f;           // the first 15 bits of ln 2
  constexpr float ln2_low = 0x1.7f7d1cp-20f;         // ln 2 - ln2_high
  constexpr float lowest = -87.0f, highest = 88.0f;  // n in -126 .. 127: 2^n and the result are normal
  // Added to a small number, it rounds it to an integer, which is then the low bits of the sum.
  const Lanes to_integer = all(0x1.8p23f);

  const Lanes x = lesser(all(highest), greater(all(lowest), argument));
  const Lanes shifted = x * all(1.44269504f) + to_integer;
  const Lanes n = shifted - to_integer;
  const Lanes r = (x - n * all(ln2_high)) - n * all(ln2_low);
  Lanes p = r * all(1.0f / 5040) + all(1.0f / 720);
  p = p * r + all(1.0f / 120);
  p = p * r + all(1.0f / 24);
  p = p * r + all(1.0f / 6);
  p = p * r + all(0.5f);
  p = p * r + all(1.0f);
  p = p * r + all(1.0f);
  Lanes power;
  EDGEQ_FOR (i, Lanes::parts) {
    Integers bits;
    std::memcpy(&bits, &shifted.part[i], sizeof bits);
    bits = (bits << 23) + (127 << 23);  // the low bits become the exponent of 2^n
    std::memcpy(&power.part[i], &bits, sizeof bits);
  }
  return p * power;
}

static void exponential_of(const float* x, std::size_t size, float* y) {
  for (std::size_t i = 0; i < size; i += vector_lanes)
    store(y + i, exponential(load(x + i, size - i)), size - i);
}

// Four sums, because a sum waits for the one before it.
static void rms_norm(const float* x, const float* weight, std::size_t size, float epsilon, float* y) {
  constexpr std::size_t step = 4 * vector_lanes;
  Lanes sums[4] = {};
  std::size_t i = 0;
  for (; i + step <= size; i += step) {
    EDGEQ_FOR (j, 4) {
      const Lanes v = load(x + i + j * vector_lanes);
      sums[j] = sums[j] + v * v;
    }
  }
  for (; i < size; i += vector_lanes) {
    const Lanes v = load(x + i, size - i);
    sums[0] = sums[0] + v * v;
  }
  const float mean = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<float>(size);
  const Lanes factor = all(1.0f / std::sqrt(mean + epsilon));
  for (i = 0; i < size; i += vector_lanes)
    store(y + i, load(x + i, size - i) * factor * load(weight + i, size - i), size - i);
}

// (x0, x1, x2, x3, ...) becomes (x1, x0, x3, x2, ...).
EDGEQ_INLINE Lanes swap_pairs(const Lanes& v) {
  Lanes swapped;
  EDGEQ_FOR (i, Lanes::parts) {
#if defined(__clang__)
#if GENERATE_VECTOR_BYTES == 64
    swapped.part[i] =
        __builtin_shufflevector(v.part[i], v.part[i], 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif GENERATE_VECTOR_BYTES == 32
    swapped.part[i] = __builtin_shufflevector(v.part[i], v.part[i], 1, 0, 3, 2, 5, 4, 7, 6);
#else
    swapped.part[i] = __builtin_shufflevector(v.part[i], v.part[i], 1, 0, 3, 2);
#endif
#else
    Integers order;
    for (std::size_t lane = 0; lane < Lanes::width; ++lane) order[lane] = static_cast<std::int32_t>(lane ^ 1);
    swapped.part[i] = __builtin_shuffle(v.part[i], order);
#endif
  }
  return swapped;
}

static void rotate_pairs(float* x, const float* cosines, const float* sines, std::size_t size) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    const Lanes v = load(x + i, size - i);
    store(x + i, v * load(cosines + i, size - i) + swap_pairs(v) * load(sines + i, size - i), size - i);
  }
}

static void rotate_halves(float* x, const float* cosines, const float* sines, std::size_t size) {
  const std::size_t half = size / 2;
  for (std::size_t i = 0, j = half; i < half; i += vector_lanes, j += vector_lanes) {
    const std::size_t count = half - i;
    const Lanes a = load(x + i, count), b = load(x + j, count);
    store(x + i, a * load(cosines + i, count) + b * load(sines + i, count), count);
    store(x + j, b * load(cosines + j, count) + a * load(sines + j, count), count);
  }
}

static void swiglu(const float* gate, const float* up, std::size_t size, float* y) {
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    const Lanes g = load(gate + i, size - i);
    const Lanes sigmoid_inverse = exponential(all(0.0f) - g) + all(1.0f);
    store(y + i, g / sigmoid_inverse * load(up + i, size - i), size - i);
  }
}

// (1 + tanh(t)) / 2 = 1 / (1 + exp(-2t)), so that no digit is lost where tanh(t) is near -1.
static void geglu(const float* gate, const float* up, std::size_t size, float* y) {
  constexpr float linear = -1.59576912f, cubic = -0.0713548163f;  // -2 sqrt(2 / pi), and 0.044715 times that
  for (std::size_t i = 0; i < size; i += vector_lanes) {
    const Lanes g = load(gate + i, size - i);
    const Lanes sigmoid_inverse = exponential(g * (all(linear) + all(cubic) * g * g)) + all(1.0f);
    store(y + i, g / sigmoid_inverse * load(up + i, size - i), size - i);
  }
}

static void add(float* y, const float* x, std::size_t size) {
  for (std::size_t i = 0; i < size; i += vector_lanes)
    store(y + i, load(y + i, size - i) + load(x + i, size - i), size - i);
}

// The lanes of positions first .. first + 15 that do not count become `value`.
EDGEQ_INLINE Lanes counted(const Lanes& v, std::size_t first, const AttentionTask& t, float value) {
  if (first >= t.skipped && first + vector_lanes <= t.positions) return v;
  float lane[vector_lanes];
  store(lane, v);
  for (std::size_t i = 0; i < vector_lanes; ++i)
    if (first + i < t.skipped || first + i >= t.positions) lane[i] = value;
  return load(lane);
}

// Fills the scores of all positions; returns the greatest. Two vectors of positions share each element of the
// query, and each has two sums, of the even and of the odd elements, because a sum waits for the one before
// it.
EDGEQ_INLINE float score(const AttentionTask& t) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  const std::size_t head_size = t.head_size;
  const float* query = t.query;
  Lanes greatest = all(lowest);
  for (std::size_t p = 0; p < t.positions; p += position_step) {
    const float* first = t.keys + p * head_size;
    const float* second = first + vector_lanes * head_size;
    const float* values = t.values + p * t.value_stride;
    Lanes sums[4] = {};
    std::size_t d = 0;
    for (; d + 2 <= head_size; d += 2, first += 2 * vector_lanes, second += 2 * vector_lanes) {
      EDGEQ_FOR (j, 4) __builtin_prefetch(values + (2 * d + j) * vector_lanes);
      const Lanes even = all(query[d]), odd = all(query[d + 1]);
      sums[0] = sums[0] + load(first) * even;
      sums[1] = sums[1] + load(first + vector_lanes) * odd;
      sums[2] = sums[2] + load(second) * even;
      sums[3] = sums[3] + load(second + vector_lanes) * odd;
    }
    if (d < head_size) {
      sums[0] = sums[0] + load(first) * all(query[d]);
      sums[2] = sums[2] + load(second) * all(query[d]);
    }
    EDGEQ_FOR (j, 2) {
      const std::size_t place = p + j * vector_lanes;
      const Lanes s = counted((sums[2 * j] + sums[2 * j + 1]) * all(t.scale), place, t, lowest);
      greatest = greater(s, greatest);
      store(t.scores + place, s);
    }
  }
  return greatest_of(greatest);
}

// Turns the scores into exp(score - greatest); returns their sum.
EDGEQ_INLINE float weigh(const AttentionTask& t, float greatest) {
  Lanes sum = {};
  for (std::size_t p = 0; p < t.positions; p += vector_lanes) {
    const Lanes w = counted(exponential(load(t.scores + p) - all(greatest)), p, t, 0);
    sum = sum + w;
    store(t.scores + p, w);
  }
  return sum_of(sum);
}

static void attend(const AttentionTask& t) {
  constexpr std::size_t vectors = value_step / vector_lanes;
  const Lanes total = all(weigh(t, score(t)));
  for (std::size_t d = 0; d < t.head_size; d += value_step) {
    Lanes sums[vectors] = {};
    const float* row = t.values + t.skipped * t.value_stride + d;
    std::size_t p = t.skipped;
    for (; p + 2 <= t.positions; p += 2, row += 2 * t.value_stride) {
      const Lanes first = all(t.scores[p]), second = all(t.scores[p + 1]);
      EDGEQ_FOR (j, vectors) {
        sums[j] = sums[j] + (load(row + j * vector_lanes) * first +
                             load(row + t.value_stride + j * vector_lanes) * second);
      }
    }
    if (p < t.positions) {
      const Lanes last = all(t.scores[p]);
      EDGEQ_FOR (j, vectors) sums[j] = sums[j] + load(row + j * vector_lanes) * last;
    }
    EDGEQ_FOR (j, vectors) {
      const std::size_t first = d + j * vector_lanes;
      if (first < t.head_size) store(t.result + first, sums[j] / total, t.head_size - first);
    }
  }
}
