// SPDX-License-Identifier: Apache-2.0
// The selector table: built by the compiler from the kernels that exist, filtered at run time by processor
// and M.
#pragma once
#include <array>
#include <span>

#include "edgeq/isa.hpp"
#include "edgeq/kernel/micro_kernel.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// One kernel, as the selector sees it.
struct KernelEntry {
  const char* isa;
  std::uint32_t features;  ///< the processor must have all of them
  std::size_t min_m;
  PreparedLayout (*layout)(const PanelGeometry&) noexcept;
  PrepareFunction prepare;
  GemmFunction gemm;
};

/// The kernel of one ISA, as a function that is not inline: compiled_kernels.hpp can keep it in one
/// translation unit of a program.
template <class Format, class Activation, class Isa>
void multiply_on(const GemmArguments& g) noexcept {
  if constexpr (Kernel<MicroKernel<Format, Activation, Isa>>) MicroKernel<Format, Activation, Isa>::gemm(g);
}

/// The kernels of one (format, activation) pair, best first.
template <class Format, class Activation, class Isas>
struct KernelTable;

template <class Format, class Activation, class... Isas>
struct KernelTable<Format, Activation, IsaList<Isas...>> {
  static constexpr std::size_t size = (std::size_t{Kernel<MicroKernel<Format, Activation, Isas>>} + ... + 0);
  static_assert(size > 0,
                "edgeq: no kernel multiplies this weight format by this activation on any listed ISA "
                "(integer activations "
                "need integer weights)");

  static constexpr std::array<KernelEntry, size> entries = [] {
    std::array<KernelEntry, size> table{};
    std::size_t i = 0;
    const auto add = [&]<class Isa>(Isa) {
      using K = MicroKernel<Format, Activation, Isa>;
      if constexpr (Kernel<K>)
        table[i++] = {Isa::name,  Isa::features, K::min_m,
                      &K::layout, K::prepare,    &multiply_on<Format, Activation, Isa>};
    };
    (add(Isas{}), ...);
    return table;
  }();
};

/// The first entry that `cpu` runs and that pays at `m` rows, or null. `any_rows` takes it even where another
/// would be faster.
constexpr const KernelEntry* select_kernel(std::span<const KernelEntry> entries, CpuFeatures cpu,
                                           std::size_t m, bool any_rows = false) noexcept {
  for (const KernelEntry& entry : entries)
    if (cpu.has(entry.features) && (any_rows || entry.min_m <= m || entry.min_m == 1)) return &entry;
  return nullptr;
}

}
