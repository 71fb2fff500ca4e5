// SPDX-License-Identifier: Apache-2.0
// The portable backend: one source for every target that Highway knows, dispatched by Highway.
//
// A translation unit of its own, which the CMake target edgeq::highway compiles into its consumer:
// foreach_target.h includes this file once for each target and works once in a unit, so no header may reach
// it. All properties of formats and activations are run-time values, made into templates where an inner loop
// differs.
#if !defined(EDGEQ_HIGHWAY_KERNELS_COMMON)
#define EDGEQ_HIGHWAY_KERNELS_COMMON
#include "edgeq/config.hpp"
// For the whole unit, Highway's own functions included: -ffast-math must not reach them.
EDGEQ_PRECISE_BEGIN
#include <cstring>
#include <type_traits>
#include <utility>

#include "edgeq/activation/activation.hpp"
#include "edgeq/highway/kernels.hpp"
#include "edgeq/kernel/fused_multiply_add.hpp"
#include "edgeq/kernel/skeleton.hpp"

// One-lane vectors cannot hold the four codes of a dot product; four emulated lanes can.
#define HWY_DISABLED_TARGETS HWY_SCALAR
#define HWY_BROKEN_EMU128 0
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgeq/highway/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgeq_highway {
namespace HWY_NAMESPACE {
namespace {

#include "edgeq/highway/vector.inl"

// All below are built of these.
#include "edgeq/highway/quantize.inl"
#include "edgeq/highway/tile.inl"

// The inner loops.
#include "edgeq/highway/float_kernel.inl"
#include "edgeq/highway/integer_kernel.inl"

template <int Planes>
void multiply_integers(const Multiplication& a) {
  if (a.weights.element == Stored::nibble)
    multiply_panels<IntegerKernel<Stored::nibble, Planes>>(a);
  else if (a.weights.element == Stored::six_bits)
    multiply_panels<IntegerKernel<Stored::six_bits, Planes>>(a);
  else
    multiply_panels<IntegerKernel<Stored::byte, Planes>>(a);
}

void multiply(const Multiplication& a) {
  if (a.m == 0 || a.panel_begin == a.panel_end) return;
  const Stored element = a.weights.element;
  const bool minima = a.weights.offset == Offset::float_minimum;
  if (a.rows.planes == 1)
    multiply_integers<1>(a);
  else if (a.rows.planes == 2)
    multiply_integers<2>(a);
  else if (element == Stored::nibble)
    minima ? multiply_panels<FloatKernel<Stored::nibble, true>>(a)
           : multiply_panels<FloatKernel<Stored::nibble, false>>(a);
  else if (element == Stored::byte)
    minima ? multiply_panels<FloatKernel<Stored::byte, true>>(a)
           : multiply_panels<FloatKernel<Stored::byte, false>>(a);
  else if (element == Stored::six_bits)
    multiply_panels<FloatKernel<Stored::six_bits, false>>(a);
  else if (element == Stored::e4m3)
    multiply_panels<FloatKernel<Stored::e4m3, false>>(a);
  else if (element == Stored::e5m2)
    multiply_panels<FloatKernel<Stored::e5m2, false>>(a);
  else if (element == Stored::f32)
    multiply_panels<FloatKernel<Stored::f32, false>>(a);
  else if (element == Stored::f16)
    multiply_panels<FloatKernel<Stored::f16, false>>(a);
  else
    multiply_panels<FloatKernel<Stored::bf16, false>>(a);
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}
}
}
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgeq_highway {

HWY_EXPORT(multiply);
HWY_EXPORT(quantize);
HWY_EXPORT(target_name);

// Weak, because every target that links edgeq::highway has its own copy and two may meet in one program.
__attribute__((weak)) void multiply(const Multiplication& arguments) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply)(arguments);
}
__attribute__((weak)) void quantize(const Quantization& arguments) noexcept {
  HWY_DYNAMIC_DISPATCH(quantize)(arguments);
}
__attribute__((weak)) const char* target_name() noexcept {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}
#endif
