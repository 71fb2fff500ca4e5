// SPDX-License-Identifier: Apache-2.0
// Instantiates the kernels of every format that a GGUF tensor can have.
#include "generate/pack_layer.hpp"

#include "edgeq/import/gguf_weights.hpp"
#include "edgeq/kernels.hpp"

namespace generate {

using namespace edgeq;

Result<AnyLinear> pack_layer(std::span<const gguf::Tensor* const> tensors, std::span<const float> bias,
                             const ThreadPool& pool) {
  return gguf::visit_weights(*tensors.front(), [&]<class Source>(const Source&) -> Result<AnyLinear> {
    using Format = typename Source::Format;
    StackedSource<Source> stack;
    for (const gguf::Tensor* tensor : tensors) stack.parts.push_back({*tensor});
    if constexpr (Format::is_integer)
      return AnyLinear::pack<Format, ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16, F32>>(
          stack, bias, pool);
    else
      return AnyLinear::pack<Format, ActivationList<F32>>(stack, bias, pool);
  });
}

}
