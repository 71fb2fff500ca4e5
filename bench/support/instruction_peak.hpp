// SPDX-License-Identifier: Apache-2.0
// How fast this machine executes the instruction that a kernel is made of: the ceiling of prefill, measured
// beside the kernels themselves.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgeq/cpu.hpp"
#include "edgeq/executor.hpp"
#include "edgeq/isa.hpp"
#include "support/dram_probe.hpp"  // its clock
#include "support/random_weights.hpp"

namespace bench {

/// Two registers that every step of a loop multiplies: none of the values is zero, subnormal, Inf or NaN.
struct PeakOperands {
  alignas(64) std::array<std::uint32_t, 16> a, b;

  /// Nibble codes 1 to 15, whose products with any byte vpmaddubsw adds without saturation, and odd bytes.
  static PeakOperands integers() {
    return filled([](std::uint32_t bits) { return (bits & 0x0F0F0F0F) | 0x01010101; },
                  [](std::uint32_t bits) { return bits | 0x01010101; });
  }
  /// Both bf16 halves of a word lie in [1, 2), and so does the word as a float.
  static PeakOperands floats() {
    const auto word = [](std::uint32_t bits) { return (bits & 0x007F007F) | 0x3F803F80; };
    return filled(word, word);
  }

 private:
  template <class ToA, class ToB>
  static PeakOperands filled(ToA to_a, ToB to_b) {
    PeakOperands operands;
    SplitMix64 random(1);
    for (std::uint32_t& word : operands.a) word = to_a(static_cast<std::uint32_t>(random() >> 32));
    for (std::uint32_t& word : operands.b) word = to_b(static_cast<std::uint32_t>(random() >> 32));
    return operands;
  }
};

/// The instruction that does the arithmetic of an ISA's kernels, and a loop of nothing else.
struct PeakInstruction {
  std::string_view isa;
  bool is_integer;  ///< of the activations
  std::string_view name;
  std::uint32_t features;  ///< the processor must have all of them
  double operations;       ///< of one iteration; a multiply-add is two
  PeakOperands (*operands)();
  void (*run)(std::size_t iterations, const PeakOperands&);
};

#if defined(__x86_64__)
// A loop over `body`. Registers 14 and 15 hold the operands, and only registers 0 to 15 take part, so that
// the code that calls needs no target of its own.
#define BENCH_PEAK_LOOP(vector, before, body)                                                            \
  [](std::size_t iterations, const PeakOperands& operands) {                                             \
    __asm__ volatile(                                                                                    \
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n vxorps %%xmm\\r, %%xmm\\r, %%xmm\\r\n .endr\n"         \
        "vmovups %[a], %%" vector "14\n vmovups %[b], %%" vector "15\n" before ".p2align 6\n 1:\n" body  \
        "dec %[iterations]\n jnz 1b\n vzeroupper\n"                                                      \
        : [iterations] "+r"(iterations)                                                                  \
        : [a] "m"(operands.a), [b] "m"(operands.b)                                                       \
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");                                                  \
  }
// A loop over fourteen times one instruction, which the assembler repeats for the accumulators 0 to 13:
// enough chains for two a cycle of up to 7 cycles' latency (vpdpbusd: 4 or 5, vdpbf16ps: 6).
#define BENCH_PEAK_LOOP_OF(instruction, vector)                                                       \
  BENCH_PEAK_LOOP(vector, "",                                                                         \
                  ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n" instruction " %%" vector "15, %%" vector \
                  "14, %%" vector "\\r\n .endr\n")

/// One row for each ISA and kind of activation; an ISA without a row has no peak to be compared with.
inline constexpr PeakInstruction peak_instructions[] = {
    {"avx512_vnni", true, "vpdpbusd zmm", edgeq::isa::avx512_vnni::features, 14 * 128, PeakOperands::integers,
     BENCH_PEAK_LOOP_OF("vpdpbusd", "zmm")},
    {"avx512_vnni", false, "vfmadd231ps zmm", edgeq::feature_mask(edgeq::Feature::avx512), 14 * 32,
     PeakOperands::floats, BENCH_PEAK_LOOP_OF("vfmadd231ps", "zmm")},
    {"avx512_bf16", false, "vdpbf16ps zmm",
     edgeq::feature_mask(edgeq::Feature::avx512, edgeq::Feature::avx512_bf16), 14 * 64, PeakOperands::floats,
     BENCH_PEAK_LOOP_OF("vdpbf16ps", "zmm")},
    {"avx_vnni", true, "vpdpbusd ymm", edgeq::isa::avx_vnni::features, 14 * 64, PeakOperands::integers,
     BENCH_PEAK_LOOP_OF("%{vex%} vpdpbusd", "ymm")},
    {"avx_vnni", false, "vfmadd231ps ymm", edgeq::isa::avx2::features, 14 * 16, PeakOperands::floats,
     BENCH_PEAK_LOOP_OF("vfmadd231ps", "ymm")},
    // A line of 64 nibbles takes two vpmaddubsw, vpaddw, vpmaddwd by ones and vpaddd; splitting it is not
    // part of it. Four lines at once, so that additions do not hold up multiplications.
    {"avx2", true, "vpmaddubsw x2, vpmaddwd", edgeq::isa::avx2::features, 4 * 128, PeakOperands::integers,
     BENCH_PEAK_LOOP("ymm", "vpcmpeqw %%ymm13, %%ymm13, %%ymm13\n vpabsw %%ymm13, %%ymm13\n",  // ones
                     ".irp r,4,5,6,7,8,9,10,11\n vpmaddubsw %%ymm15, %%ymm14, %%ymm\\r\n .endr\n"
                     "vpaddw %%ymm8, %%ymm4, %%ymm4\n vpaddw %%ymm9, %%ymm5, %%ymm5\n"
                     "vpaddw %%ymm10, %%ymm6, %%ymm6\n vpaddw %%ymm11, %%ymm7, %%ymm7\n"
                     ".irp r,4,5,6,7\n vpmaddwd %%ymm13, %%ymm\\r, %%ymm\\r\n .endr\n"
                     "vpaddd %%ymm4, %%ymm0, %%ymm0\n vpaddd %%ymm5, %%ymm1, %%ymm1\n"
                     "vpaddd %%ymm6, %%ymm2, %%ymm2\n vpaddd %%ymm7, %%ymm3, %%ymm3\n")},
    {"avx2", false, "vfmadd231ps ymm", edgeq::isa::avx2::features, 14 * 16, PeakOperands::floats,
     BENCH_PEAK_LOOP_OF("vfmadd231ps", "ymm")},
};
#undef BENCH_PEAK_LOOP_OF
#undef BENCH_PEAK_LOOP
#else
inline constexpr std::array<PeakInstruction, 0> peak_instructions{};
#endif

/// Runs the loops between other measurements and keeps the best rate of each.
class InstructionPeaks {
 public:
  /// Remembers that kernels of this ISA and kind of activation take part. Returns what to pass to `sample`
  /// and `gops`, or `none` if no instruction is known or the processor lacks it.
  std::size_t add(std::string_view isa, bool is_integer) {
    const auto found = std::find_if(std::begin(peak_instructions), std::end(peak_instructions),
                                    [&](const PeakInstruction& instruction) {
                                      return instruction.isa == isa && instruction.is_integer == is_integer &&
                                             edgeq::CpuFeatures::detect().has(instruction.features);
                                    });
    if (found == std::end(peak_instructions)) return none;
    for (std::size_t i = 0; i < peaks_.size(); ++i)
      if (peaks_[i].instruction == &*found) return i;
    peaks_.push_back({&*found, found->operands(), 0});
    return peaks_.size() - 1;
  }
  static constexpr std::size_t none = SIZE_MAX;

  /// Runs the loop on all threads of `executor` at once.
  template <edgeq::Executor E>
  void sample(std::size_t peak, const E& executor) {
    if (peak == none) return;
    Peak& p = peaks_[peak];
    const std::size_t threads = executor.concurrency();
    const double start = seconds_now(threads);
    executor.run(threads, [&](std::size_t) { p.instruction->run(iterations, p.operands); });
    const double seconds = seconds_now(threads) - start;
    p.best =
        std::max(p.best, p.instruction->operations * static_cast<double>(iterations * threads) / seconds);
  }

  std::string_view name(std::size_t peak) const { return peaks_[peak].instruction->name; }
  /// 10^9 operations per second of all threads together.
  double gops(std::size_t peak) const { return peaks_[peak].best * 1e-9; }

 private:
  /// At 6 or more cycles each, some 0.2 ms: long against a fork and a join, short against a scheduler's
  /// slice.
  static constexpr std::size_t iterations = 100000;

  struct Peak {
    const PeakInstruction* instruction;
    PeakOperands operands;
    double best;
  };
  std::vector<Peak> peaks_;
};

}
