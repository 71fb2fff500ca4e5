// SPDX-License-Identifier: Apache-2.0
// Unquantized tensors.
#include "generate/pack_stack.inl"

GENERATE_PACK(edgeq::gguf::FloatSource<float>)
GENERATE_PACK(edgeq::gguf::FloatSource<edgeq::Float16>)
GENERATE_PACK(edgeq::gguf::FloatSource<edgeq::BFloat16>)
