// SPDX-License-Identifier: Apache-2.0
// Layers on the tile kernels that this machine can run: those with plain C++ around the tiles everywhere,
// those of the library where there is AVX-512.
#pragma once
#include "support/amx/emulator.hpp"
#include "support/amx/portable_tiles.hpp"
#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace test {

/// This processor, and AMX, which the emulator lends it.
inline edgeq::CpuFeatures with_tiles() {
  using edgeq::Feature;
  edgeq::CpuFeatures cpu = edgeq::CpuFeatures::detect();
  cpu.bits = edgeq::with_dependencies(cpu.bits | edgeq::feature_mask(Feature::amx_int8, Feature::amx_bf16));
  return cpu;
}

using TileIsas = edgeq::IsaList<edgeq::isa::portable_tiles, edgeq::isa::amx_int8, edgeq::isa::amx_bf16,
                                edgeq::isa::generic>;

/// Calls body(layer) for every tile kernel of (F, Activation) that runs here.
template <class F, class Activation, class Body>
void for_each_tile_kernel(const typename F::View& view, const std::vector<float>& bias, const Body& body) {
  if (amx_emulator::install() == amx_emulator::Execution::impossible)
    GTEST_SKIP() << "tiles can be neither executed nor emulated here";
  auto layer = edgeq::AnyLinear::pack<F, edgeq::ActivationList<Activation>, TileIsas>(
      view, edgeq::Bias(std::span<const float>(bias)), edgeq::InlineExecutor{}, with_tiles());
  ASSERT_TRUE(layer) << layer.error().message;
  for (const char* name : {"portable_tiles", Activation::is_integer ? "amx_int8" : "amx_bf16"}) {
    const auto kernel = layer->only(name);
    if (!kernel) {
      announce_skipped(name, kernel.error().message);
      continue;
    }
    SCOPED_TRACE(std::string(name) + ", " + kernel->format() + " x " + kernel->activation());
    body(*kernel);
  }
}

}
