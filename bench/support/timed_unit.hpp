// SPDX-License-Identifier: Apache-2.0
// The unit that is timed: a few calls of equal linears, one after the other, each with weights of its own.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <span>
#include <vector>

#include "edgeq/linear.hpp"
#include "edgeq/thread_pool.hpp"
#include "support/dram_probe.hpp"
#include "support/random_weights.hpp"

namespace bench {

/// How many of `copies` linears of `weight_bytes` make a unit that reads about 10 MB: 1, 2 or 4, a divisor of
/// `copies`.
inline std::size_t calls_per_unit(std::size_t weight_bytes, std::size_t copies) {
  std::size_t calls = 1;
  while (calls < 4 && calls * weight_bytes < 6000000 && copies % (2 * calls) == 0) calls *= 2;
  return calls;
}

/// Random x [M, K] in [-1, 1), and room for y [M, N].
class TimedUnit {
 public:
  TimedUnit(std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed)
      : m_(m), n_(n), k_(k), x_(m * k), y_(m * n) {
    SplitMix64 random(seed);
    for (float& v : x_) v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  }

  /// Prepares x for and runs each of `layers`. Returns the mean seconds of one.
  double seconds_per_call(std::span<const edgeq::AnyLinear> layers, const edgeq::ThreadPool& pool) {
    const double start = seconds_now(pool.concurrency());
    for (const edgeq::AnyLinear& layer : layers) {
      if (edgeq::Status status = layer.prepare(prepared_, {x_.data(), m_, k_}, pool); !status) std::abort();
      layer.run(prepared_, {y_.data(), m_, n_}, pool);
    }
    return (seconds_now(pool.concurrency()) - start) / static_cast<double>(layers.size());
  }

 private:
  std::size_t m_, n_, k_;
  std::vector<float> x_, y_;
  edgeq::Prepared prepared_;
};

}
