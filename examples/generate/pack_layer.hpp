// SPDX-License-Identifier: Apache-2.0
// From tensors of a GGUF file to an edgeq layer.
#pragma once
#include <span>

#include "edgeq/any_linear.hpp"
#include "edgeq/import/gguf.hpp"
#include "edgeq/thread_pool.hpp"

namespace generate {

/// Packs tensors of one type and K, row under row, as one layer, in the edgeq format that holds the type
/// exactly. `bias` has one float for each row of all tensors, or none at all.
///
/// A layer of quantized weights may run under the activations "int8", "int8/group", "int16" and "f32", one of
/// float weights under "f32" only. Refuses a tensor type that edgeq does not multiply.
edgeq::Result<edgeq::AnyLinear> pack_layer(std::span<const edgeq::gguf::Tensor* const> tensors,
                                           std::span<const float> bias, const edgeq::ThreadPool& pool);

}
