// SPDX-License-Identifier: Apache-2.0
// How the ODR test calls a unit: pointers only, so that units with different flags share no inline function
// here.
#pragma once
#include <cstddef>
#include <cstdint>

/// W [n, k] of 4-bit codes with bf16 scales, bias [n], x [m, k] in; y [m, n] and the name of the kernel's ISA
/// out.
struct LayerCall {
  std::size_t m, n, k, code_bytes, scale_count;
  const std::uint8_t* codes;
  const std::uint16_t* scales;
  const float* bias;
  const float* x;
  float* y;
  char isa[32];
};

/// Runs the layer with groups of 48, or of 1000, and 16-bit activations, or 8-bit ones. False if edgeq
/// refuses it.
using Unit = bool(LayerCall&, bool long_groups, bool wide_activations);
Unit run_baseline;  // built with -march=x86-64
Unit run_newest;    // built with -march=x86-64-v4
