// SPDX-License-Identifier: Apache-2.0
// An instruction set made up for tests: the generic integer kernels under another name, with a form of x and
// a least number of rows of their own.
#pragma once
#include "edgeq/kernels.hpp"

namespace test::isa {

/// Pays from four rows on, and reads integer codes with 64 bytes of zeros behind each plane. Its function
/// that prepares x is the generic kernel's.
struct late {
  static constexpr const char* name = "late";
  static constexpr std::uint32_t features = 0;
};

}

namespace edgeq {

template <WeightFormat Format, ActivationPolicy Activation>
requires Kernel<MicroKernel<Format, Activation, isa::generic>>
struct MicroKernel<Format, Activation, test::isa::late> : MicroKernel<Format, Activation, isa::generic> {
  static constexpr std::size_t min_m = 4;
  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return PreparedLayout::of_codes<Activation>(geometry, 64);
  }
};

}
