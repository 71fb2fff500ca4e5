// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 codes of 5 and 8 bits.
#include "generate/pack_stack.inl"

GENERATE_PACK_BLOCKS(Q5_0)
GENERATE_PACK_BLOCKS(Q5_1)
GENERATE_PACK_BLOCKS(Q8_0)
