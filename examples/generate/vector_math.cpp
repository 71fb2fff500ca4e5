// SPDX-License-Identifier: Apache-2.0
// Compiles the loops for each instruction set and chooses among them.
#include "generate/vector_math.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/cpu.hpp"

// Regions keep products and sums apart (no contraction): whatever the width, a lane sees the same operations.
#if defined(__x86_64__)
EDGEQ_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq")
#define GENERATE_VECTOR_BYTES 64
namespace generate::avx512 {
#include "generate/vector_math.inl"
}
#undef GENERATE_VECTOR_BYTES
EDGEQ_TARGET_END
EDGEQ_TARGET_BEGIN("avx2")
#define GENERATE_VECTOR_BYTES 32
namespace generate::avx2 {
#include "generate/vector_math.inl"
}
#undef GENERATE_VECTOR_BYTES
EDGEQ_TARGET_END
#endif
EDGEQ_PRECISE_BEGIN
#define GENERATE_VECTOR_BYTES 16
namespace generate::baseline {
#include "generate/vector_math.inl"
}
#undef GENERATE_VECTOR_BYTES
EDGEQ_PRECISE_END

namespace generate {

#define GENERATE_LOOPS(target)                                                                      \
  constexpr VectorMath target##_loops {                                                             \
#target, target::exponential_of, target::rms_norm, target::rotate_pairs, target::rotate_halves, \
        target::swiglu, target::geglu, target::add, target::attend                                  \
  }
namespace {
#if defined(__x86_64__)
GENERATE_LOOPS(avx512);
GENERATE_LOOPS(avx2);
#endif
GENERATE_LOOPS(baseline);
}
#undef GENERATE_LOOPS

std::span<const VectorMath* const> runnable_vector_math() {
  static const std::vector<const VectorMath*> runnable = [] {
    std::vector<const VectorMath*> list;
#if defined(__x86_64__)
    const edgeq::CpuFeatures cpu = edgeq::CpuFeatures::detect();
    if (cpu.has(edgeq::Feature::avx512)) list.push_back(&avx512_loops);
    if (cpu.has(edgeq::Feature::avx2)) list.push_back(&avx2_loops);
#endif
    list.push_back(&baseline_loops);
    return list;
  }();
  return runnable;
}

const VectorMath& vector_math() {
  return *runnable_vector_math().front();
}

}
