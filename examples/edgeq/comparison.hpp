// SPDX-License-Identifier: Apache-2.0
// How far one set of weights is from another.
#pragma once
#include "edgeq/thread_pool.hpp"
#include "weights.hpp"

namespace tool {

/// B beside A, both [N, K].
struct Comparison {
  bool exact = true;      ///< every float has the same bits
  double snr = 0.0;       ///< 10 log10 of the sum of A² over that of (A - B)², infinite without error
  double cosine = 1.0;    ///< of A and B as vectors
  std::size_t worst = 0;  ///< the row with the least SNR
  double worst_snr = 0.0;
};

/// Compares two matrices of one shape, a few rows at a time. The result does not depend on the threads.
Comparison compare(const AnyWeights& a, const AnyWeights& b, const edgeq::ThreadPool& threads);

}
