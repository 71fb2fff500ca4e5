// SPDX-License-Identifier: Apache-2.0
// K-quants of 2 to 4 bits.
#include "generate/pack_stack.inl"

GENERATE_PACK_BLOCKS(Q2_K)
GENERATE_PACK_BLOCKS(Q3_K)
GENERATE_PACK_BLOCKS(Q4_K)
