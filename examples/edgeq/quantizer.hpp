// SPDX-License-Identifier: Apache-2.0
// Quantizes the weights of one linear and leaves the result in a spool.
#pragma once
#include <functional>
#include <memory>

#include "edgeq/quantize/group_fit.hpp"
#include "edgeq/thread_pool.hpp"
#include "gptq_options.hpp"
#include "hessian.hpp"
#include "spool.hpp"
#include "weights.hpp"

namespace tool {

/// Codes of integers with a scale per group.
struct IntegerCodes {
  int bits = 4;  ///< 4 or 8
  bool has_zeros = false;
  edgeq::FloatType scale = edgeq::FloatType::f16;
  std::size_t group = 128;
};

/// Makes the quantized weights of the bytes of the finished spool, which must outlive them.
using SpooledWeights = std::function<std::shared_ptr<const AnyWeights>(std::span<const std::byte> spool)>;

/// Rounds to nearest, some rows at a time.
edgeq::Result<SpooledWeights> round_to_nearest(const AnyWeights& weights, const IntegerCodes& codes,
                                               edgeq::quantize::Search search, Spool& spool,
                                               const edgeq::ThreadPool& threads);

/// GPTQ; needs memory for all of W as floats.
edgeq::Result<SpooledWeights> gptq(const AnyWeights& weights, const IntegerCodes& codes,
                                   const Hessian& hessian, const GptqOptions& options, Spool& spool,
                                   const edgeq::ThreadPool& threads);

/// FP8, E4M3, with a float scale for each block of rows x columns.
edgeq::Result<SpooledWeights> round_to_float8(const AnyWeights& weights, std::size_t block_rows,
                                              std::size_t block_columns, Spool& spool,
                                              const edgeq::ThreadPool& threads);

}
