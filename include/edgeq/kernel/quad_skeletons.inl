// SPDX-License-Identifier: Apache-2.0
// The skeletons that an ISA of quads includes inside its region, over its `Simd` and `Tile`.
#include "edgeq/kernel/codes.inl"
#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these: parts.
#include "edgeq/kernel/integer_scaling.inl"
#include "edgeq/kernel/prepare_tiles.inl"

// Over all of these.
#include "edgeq/kernel/quad_product.inl"
