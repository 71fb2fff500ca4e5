// SPDX-License-Identifier: Apache-2.0
// K-quants of 5 and 6 bits.
#include "generate/pack_stack.inl"

GENERATE_PACK_BLOCKS(Q5_K)
GENERATE_PACK_BLOCKS(Q6_K)
