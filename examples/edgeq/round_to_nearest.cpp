// SPDX-License-Identifier: Apache-2.0
// Integers and FP8 by rounding, in pieces of rows: memory does not grow with N.
#include "edgeq/quantize/round_to_nearest.hpp"

#include "edgeq/import/fp8.hpp"
#include "edgeq/quantize/float8.hpp"
#include "spooled_weights.hpp"

namespace tool {

using edgeq::Result;
using edgeq::ThreadPool;

namespace {

constexpr std::size_t piece_rows = 1024;

}

Result<SpooledWeights> round_to_nearest(const AnyWeights& weights, const IntegerCodes& codes,
                                        edgeq::quantize::Search search, Spool& spool,
                                        const ThreadPool& threads) {
  const std::size_t n = weights.shape().n, k = weights.shape().k;
  return with_format(codes, [&]<class F>(std::type_identity<F>) -> Result<SpooledWeights> {
    const auto begin = spool.align();
    if (!begin) return begin.error();
    edgeq::quantize::QuantizedWeights<F> all(0, k, codes.group);
    for (std::size_t first = 0; first < n; first += piece_rows) {
      const std::size_t count = std::min(piece_rows, n - first);
      const std::vector<float> floats = read_floats(weights, first, count, threads);
      const auto piece =
          edgeq::quantize::round_to_nearest<F>({floats.data(), count, k}, search, codes.group, threads);
      if (auto status = spool.append(std::as_bytes(std::span(piece.codes))); !status) return status.error();
      all.scales.insert(all.scales.end(), piece.scales.begin(), piece.scales.end());
      all.zeros.insert(all.zeros.end(), piece.zeros.begin(), piece.zeros.end());
    }
    return spool_parameters(*begin, n, all, {}, spool);
  });
}

Result<SpooledWeights> round_to_float8(const AnyWeights& weights, std::size_t block_rows,
                                       std::size_t block_columns, Spool& spool, const ThreadPool& threads) {
  using F = edgeq::Fp8Block<edgeq::dynamic_group, edgeq::dynamic_group, edgeq::Float8E4M3>;
  const std::size_t n = weights.shape().n, k = weights.shape().k;
  const std::size_t step = edgeq::round_up(piece_rows, block_rows);  // pieces hold whole blocks
  const auto begin = spool.align();
  if (!begin) return begin.error();
  std::vector<float> scales;
  for (std::size_t first = 0; first < n; first += step) {
    const std::size_t count = std::min(step, n - first);
    const std::vector<float> floats = read_floats(weights, first, count, threads);
    const auto piece =
        edgeq::quantize::scaled_float<F>({floats.data(), count, k}, block_rows, block_columns, threads);
    if (auto status = spool.append(std::as_bytes(std::span(piece.codes))); !status) return status.error();
    scales.insert(scales.end(), piece.scales.begin(), piece.scales.end());
  }
  const auto place = append_array(spool, scales);
  if (!place) return place.error();
  return SpooledWeights([=, codes = *begin, at = *place,
                         count = scales.size()](std::span<const std::byte> spooled) {
    F::View view;
    view.n = n;
    view.k = k;
    view.codes = elements<std::uint8_t>(spooled, codes, n * k);
    view.scales = elements<float>(spooled, at, count);
    view.dynamic_n = block_rows;
    view.dynamic_k = block_columns;
    return *any_weights(edgeq::fp8::Source<edgeq::Float8E4M3>{view, nullptr});  // the spool has the scales
  });
}

}
