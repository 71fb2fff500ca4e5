#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# AMX instructions and intrinsics stand in kernel/amx_tiles.hpp alone: GCC's intrinsics name no memory operand, and code
# around them is deleted as dead. Argument: the include folder.
found=$(grep -rnE '\b_tile_|__builtin_ia32_t(ile|dp)|"[^"]*(tileload|tilestore|tilezero|tilerelease|ldtilecfg|sttilecfg|tdp[bf])' "$1" |
  grep -vE '^[^:]*/kernel/amx_tiles\.hpp:')
test -z "$found" || { echo "AMX outside kernel/amx_tiles.hpp:"; echo "$found"; exit 1; }
