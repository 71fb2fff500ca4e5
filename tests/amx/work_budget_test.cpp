// SPDX-License-Identifier: Apache-2.0
// The work that the tile kernels give the machine, counted: what a model of time rests on where nothing can
// be timed. A budget that is exceeded is a change of the loops' structure.
#include <gtest/gtest.h>

#include "support/amx/tile_layer.hpp"

namespace {

using namespace edgeq;
using amx_emulator::count_of;
using amx_emulator::Event;
using amx_emulator::Operation;
using Stores = portable_tiles::Simd;

struct Work {
  std::uint64_t products, loads, tile_stores, configurations, vector_stores;
  double per_product(std::uint64_t count) const {
    return static_cast<double>(count) / static_cast<double>(products);
  }
};

/// Counts one call of the kernel for M rows, in one task.
template <class F, class Activation>
Work work_of(std::size_t m, std::size_t n, std::size_t k) {
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2);
  auto layer = value_or_throw(AnyLinear::pack<F, ActivationList<Activation>, test::TileIsas>(
      weights.view(), {}, InlineExecutor{}, test::with_tiles()));
  layer = value_or_throw(layer.only("portable_tiles"));
  Prepared prepared;
  std::vector<float> y(m * n);
  EXPECT_TRUE(layer.prepare(prepared, {x.data(), m, k}));
  amx_emulator::reset_counts();
  Stores::stores = 0;
  layer.run(prepared, {y.data(), m, n});
  EXPECT_EQ(count_of(Event::row_load_split), 0u);
  EXPECT_EQ(count_of(Event::row_store_split), 0u);
  EXPECT_EQ(count_of(Event::product_in_part), 0u);
  return {count_of(Event::product), count_of(Operation::tileloadd), count_of(Event::row_store),
          count_of(Operation::ldtilecfg), Stores::stores};
}

/// Prints the work per product, and the cycles that the published throughputs give each resource: a product
/// 16, a tile load 8, a store of 64 bytes 1 (Intel's optimization reference manual).
void report(const char* name, const Work& w) {
  std::printf(
      "%-22s per product: %.2f tile loads, %.2f tile row stores, %.2f vector stores; model cycles: product "
      "16.0, loads %.1f, stores %.1f\n",
      name, w.per_product(w.loads), w.per_product(w.tile_stores), w.per_product(w.vector_stores),
      8.0 * w.per_product(w.loads), w.per_product(w.tile_stores + w.vector_stores));
}

class WorkBudget : public testing::Test {
 protected:
  void SetUp() override {
    if (amx_emulator::install() != amx_emulator::Execution::emulated)
      GTEST_SKIP() << "work is counted in emulation only";
  }
};

constexpr std::size_t m = 128, n = 64, k = 2048;

template <class F, class Activation>
void expect_budget(const char* name, std::size_t k_per_product, std::size_t planes,
                   std::size_t stores_per_product = 18) {
  const Work w = work_of<F, Activation>(m, n, k);
  report(name, w);
  EXPECT_EQ(w.products, m / 16 * (n / 16) * (k / k_per_product) * planes);
  EXPECT_LE(w.loads, w.products);
  EXPECT_EQ(w.configurations, 1u);
  EXPECT_LE(w.tile_stores + w.vector_stores, stores_per_product * w.products);
}

TEST_F(WorkBudget, Group128) {
  expect_budget<Int4<128>, DynamicInt8>("int4 g128 x int8", 64, 1);
  EXPECT_EQ(count_of(Event::product_of_short_k), 0u);
  expect_budget<Int4<128>, DynamicInt16>("int4 g128 x int16", 64, 2);
  expect_budget<Int8<128>, DynamicInt8>("int8 g128 x int8", 64, 1);
  expect_budget<Int4<128>, Bf16>("int4 g128 x bf16", 32, 1);
  expect_budget<Fp8Block<>, Bf16>("fp8 b128x128 x bf16", 32, 1);
  expect_budget<Bf16Weight, Bf16>("bf16 x bf16", 32, 1);
}
TEST_F(WorkBudget, Group32) {
  expect_budget<Int4<32>, DynamicInt8>("int4 g32 x int8", 32, 1);
  expect_budget<Int4<32>, DynamicInt16>("int4 g32 x int16", 32, 2);
  // Codes become twice as wide, which costs one more store a product.
  expect_budget<Int4<32>, Bf16>("int4 g32 x bf16", 32, 1, 19);
}

// A square that M does not fill has tiles of its own shape: one more configuration, no more.
TEST_F(WorkBudget, RaggedRowsTakeASecondConfiguration) {
  const auto weights = test::random_weights<Int4<128>>(37, 300, 0, 1);
  const auto x = test::random_floats(77 * 300, 2);
  test::for_each_tile_kernel<Int4<128>, DynamicInt8>(weights.view(), {}, [&](const AnyLinear& kernel) {
    amx_emulator::reset_counts();
    test::run_layer(kernel, x.data(), 77);
    EXPECT_EQ(count_of(Operation::ldtilecfg), 2u);
    EXPECT_EQ(count_of(Operation::tilerelease), 2u);
    amx_emulator::reset_counts();
    test::run_layer(kernel, x.data(), 77, test::LastTaskFirst{3});
    EXPECT_EQ(count_of(Operation::ldtilecfg), 6u);
  });
}

}
