// SPDX-License-Identifier: Apache-2.0
// The skeletons that a vector ISA includes inside its region, over its `Simd`.
#include "edgeq/kernel/codes.inl"
#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these: parts.
#include "edgeq/kernel/blocked.inl"
#include "edgeq/kernel/float_weights.inl"
#include "edgeq/kernel/integer_scaling.inl"

// Over all of these: kernels.
#include "edgeq/kernel/blocked_fma.inl"
#include "edgeq/kernel/panel_dot.inl"

// Over the first of these, for many rows.
#include "edgeq/kernel/panel_fma.inl"
