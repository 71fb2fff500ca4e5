// SPDX-License-Identifier: Apache-2.0
// Finds the type's packer.
#include "generate/pack_layer.hpp"

#include "generate/pack_stack.hpp"

namespace generate {

using namespace edgeq;

Result<AnyLinear> pack_layer(std::span<const gguf::Tensor* const> tensors, std::span<const float> bias,
                             const ThreadPool& pool) {
  return gguf::visit_weights(*tensors.front(), [&]<class Source>(const Source&) -> Result<AnyLinear> {
    StackedSource<Source> stack;
    for (const gguf::Tensor* tensor : tensors) stack.parts.push_back({*tensor});
    return pack_stack(stack, bias, pool);
  });
}

}
