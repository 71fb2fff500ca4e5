// SPDX-License-Identifier: Apache-2.0
// Layers on Highway's kernels, and every target of Highway that this machine runs, in turn.
#pragma once
#include <gtest/gtest.h>

// The targets that kernels.cc compiles.
#define HWY_DISABLED_TARGETS HWY_SCALAR
#define HWY_BROKEN_EMU128 0
#include <hwy/targets.h>

#include <string>
#include <vector>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace test_highway {

using namespace edgeq;

using Isas = IsaList<isa::highway, isa::generic>;

struct Depth {
  std::size_t k, group;
};

/// Calls body for each target compiled and supported, as the only one of the machine.
template <class Body>
void for_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(std::string("Highway target ") + hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    EXPECT_STREQ(edgeq_highway::target_name(), hwy::TargetName(target));
    body();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
    if (testing::Test::HasFailure()) return;
  }
}

template <class F, class Activations>
AnyLinear pack(const test::Weights<F>& weights, std::size_t n, const std::vector<float>& bias) {
  const std::span<const float> part = std::span(bias).first(bias.empty() ? 0 : n);
  auto layer = AnyLinear::pack<F, Activations, Isas>(weights.view(n), Bias(part));
  if (!layer) ADD_FAILURE() << layer.error().message;
  return *layer->with_range({0.05f, -9});  // of static activations; others find their own
}

inline AnyLinear only(const AnyLinear& layer, const char* isa) {
  auto kernel = layer.only(isa);
  if (!kernel) ADD_FAILURE() << kernel.error().message;
  return std::move(*kernel);
}

/// First row of x, M, N: every height of a tile, every N that leaves a panel partly or wholly filled.
inline constexpr std::size_t shapes[][3] = {{1, 1, 130}, {2, 2, 37}, {3, 3, 16}, {5, 4, 130}, {4, 5, 1},
                                            {0, 9, 37},  {6, 1, 1},  {7, 1, 37}, {0, 9, 130}, {3, 1, 16}};

}
