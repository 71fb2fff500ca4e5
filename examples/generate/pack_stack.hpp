// SPDX-License-Identifier: Apache-2.0
// Packs tensors of one GGUF type. Kernels cost the compiler seconds for each format and activation, so the
// types are spread over the translation units pack_*.cpp, which alone include pack_stack.inl.
#pragma once
#include <span>

#include "edgeq/any_linear.hpp"
#include "edgeq/import/gguf_weights.hpp"
#include "edgeq/thread_pool.hpp"

namespace generate {

/// The rows of all parts as one layer in the format of their type; see pack_layer.hpp. Defined for every
/// source of edgeq::gguf::visit_weights.
template <class Source>
edgeq::Result<edgeq::AnyLinear> pack_stack(const edgeq::StackedSource<Source>& stack,
                                           std::span<const float> bias, const edgeq::ThreadPool& pool);

}
