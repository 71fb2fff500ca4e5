// SPDX-License-Identifier: Apache-2.0
// Kernels in one translation unit of a program, for programs with layers of one format in many.
//
// The kernels of a (format, activation) pair for all instruction sets take GCC 12 some five seconds, in every
// unit that makes such a layer. Where EDGEQ_KERNELS_ELSEWHERE stands before the first use of a pair they are
// left out, and the linker takes those of the unit that has EDGEQ_KERNELS_HERE. Both units must be compiled
// for the same baseline and the same components, or the linker finds no kernel. CMake's edgeq_add_kernels
// writes both.
#pragma once
#include "edgeq/linear.hpp"

/// EDGEQ_KERNELS_ELSEWHERE(Activation, Format) stands in namespace edgeq; Format may contain commas.
#define EDGEQ_KERNELS_ELSEWHERE(...) EDGEQ_FOR_EACH_ISA(EDGEQ_KERNEL_ELSEWHERE_, __VA_ARGS__)
/// The same for the one unit that has the kernels.
#define EDGEQ_KERNELS_HERE(...) EDGEQ_FOR_EACH_ISA(EDGEQ_KERNEL_HERE_, __VA_ARGS__)

#define EDGEQ_KERNEL_ELSEWHERE_(isa_name, Activation, ...) \
  extern template void multiply_on<__VA_ARGS__, Activation, isa::isa_name>(const GemmArguments&) noexcept;
#define EDGEQ_KERNEL_HERE_(isa_name, Activation, ...) \
  template void multiply_on<__VA_ARGS__, Activation, isa::isa_name>(const GemmArguments&) noexcept;
