// SPDX-License-Identifier: Apache-2.0
// The definition of pack_stack, and how to instantiate it.
#pragma once
#include "edgeq/kernels.hpp"
#include "generate/pack_stack.hpp"

namespace generate {

template <class Source>
edgeq::Result<edgeq::AnyLinear> pack_stack(const edgeq::StackedSource<Source>& stack,
                                           std::span<const float> bias, const edgeq::ThreadPool& pool) {
  using namespace edgeq;
  using Format = typename Source::Format;
  if constexpr (Format::is_integer)
    return AnyLinear::pack<Format, ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16, F32>>(
        stack, bias, pool);
  else
    return AnyLinear::pack<Format, ActivationList<F32>>(stack, bias, pool);
}

}

#define GENERATE_PACK(Source)                                    \
  template edgeq::Result<edgeq::AnyLinear> generate::pack_stack( \
      const edgeq::StackedSource<Source>&, std::span<const float>, const edgeq::ThreadPool&);
#define GENERATE_PACK_BLOCKS(Type) GENERATE_PACK(edgeq::gguf::BlockSource<edgeq::gguf::Type>)
