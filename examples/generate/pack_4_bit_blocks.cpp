// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 codes of 4 bits, and ternary ones.
#include "generate/pack_stack.inl"

GENERATE_PACK_BLOCKS(Q4_0)
GENERATE_PACK_BLOCKS(Q4_1)
GENERATE_PACK_BLOCKS(TQ1_0)
GENERATE_PACK_BLOCKS(TQ2_0)
