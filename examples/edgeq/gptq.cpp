// SPDX-License-Identifier: Apache-2.0
// GPTQ for every format of codes: the translation unit that pays for Eigen.
#include "gptq.hpp"

#include "spooled_weights.hpp"

namespace tool {

using edgeq::Result;

Result<SpooledWeights> gptq(const AnyWeights& weights, const IntegerCodes& codes, const Hessian& hessian,
                            const GptqOptions& options, Spool& spool, const edgeq::ThreadPool& threads) {
  const std::size_t n = weights.shape().n, k = weights.shape().k;
  const std::vector<float> floats = read_floats(weights, 0, n, threads);
  return with_format(codes, [&]<class F>(std::type_identity<F>) -> Result<SpooledWeights> {
    auto quantized = gptq<F>({floats.data(), n, k}, hessian, options, codes.group, threads);
    if (!quantized) return quantized.error();
    const auto begin = append_array(spool, quantized->positions.codes);
    if (!begin) return begin.error();
    return spool_parameters(*begin, n, quantized->positions, std::move(quantized->order), spool);
  });
}

}
