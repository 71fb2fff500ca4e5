// SPDX-License-Identifier: Apache-2.0
// Types whose codes name entries of a table.
#include "generate/pack_stack.inl"

GENERATE_PACK_BLOCKS(IQ4_NL)
GENERATE_PACK_BLOCKS(IQ4_XS)
GENERATE_PACK_BLOCKS(MXFP4)
GENERATE_PACK_BLOCKS(NVFP4)
