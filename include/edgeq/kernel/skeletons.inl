// SPDX-License-Identifier: Apache-2.0
// The skeletons that a vector ISA includes inside its region, over its `Simd`.
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// The kernels use both.
#include "edgeq/kernel/panel_dot.inl"
#include "edgeq/kernel/panel_fma.inl"
