// SPDX-License-Identifier: Apache-2.0
// The skeletons that a vector ISA includes inside its region, over its `Simd`.
#include "edgeq/kernel/prepare_rows.inl"
// (order matters: the walk is used by both kernels)
#include "edgeq/kernel/panel_dot.inl"
#include "edgeq/kernel/panel_fma.inl"
#include "edgeq/kernel/panel_walk.inl"
