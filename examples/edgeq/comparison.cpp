// SPDX-License-Identifier: Apache-2.0
// Sums over rows, which the threads share, and over all rows in their order.
#include "comparison.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace tool {

namespace {

struct Sums {
  double aa = 0.0, bb = 0.0, ab = 0.0, noise = 0.0;
  bool exact = true;

  void add(const Sums& other) {
    aa += other.aa;
    bb += other.bb;
    ab += other.ab;
    noise += other.noise;
    exact = exact && other.exact;
  }
  /// What is not finite is as far as can be, unless all bits agree.
  double snr() const {
    if (exact || noise == 0.0) return std::numeric_limits<double>::infinity();
    const double ratio = 10.0 * std::log10(aa / noise);
    return std::isnan(ratio) ? -std::numeric_limits<double>::infinity() : ratio;
  }
};

Sums sums_of(const float* a, const float* b, std::size_t k) {
  Sums sums;
  sums.exact = std::memcmp(a, b, k * sizeof(float)) == 0;
  for (std::size_t i = 0; i < k; ++i) {
    const double x = a[i], y = b[i];
    sums.aa += x * x;
    sums.bb += y * y;
    sums.ab += x * y;
    sums.noise += (x - y) * (x - y);
  }
  return sums;
}

}

Comparison compare(const AnyWeights& a, const AnyWeights& b, const edgeq::ThreadPool& threads) {
  const std::size_t n = a.shape().n, k = a.shape().k;
  Comparison result;
  result.snr = result.worst_snr = std::numeric_limits<double>::infinity();
  if (n == 0 || k == 0) return result;
  constexpr std::size_t block = edgeq::panel_columns;
  std::vector<Sums> rows(n);
  threads.run(edgeq::divide_up(n, block), [&](std::size_t task) {
    const std::size_t first = task * block, count = std::min(block, n - first);
    std::vector<float> left(count * k), right(count * k);
    a.read(first, count, left.data());
    b.read(first, count, right.data());
    for (std::size_t r = 0; r < count; ++r) rows[first + r] = sums_of(&left[r * k], &right[r * k], k);
  });
  Sums all;
  for (std::size_t i = 0; i < n; ++i) {
    all.add(rows[i]);
    if (rows[i].snr() < result.worst_snr) {
      result.worst_snr = rows[i].snr();
      result.worst = i;
    }
  }
  result.exact = all.exact;
  result.snr = all.snr();
  if (!all.exact) result.cosine = all.ab / std::sqrt(all.aa * all.bb);
  return result;
}

}
