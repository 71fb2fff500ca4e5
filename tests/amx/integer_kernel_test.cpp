// SPDX-License-Identifier: Apache-2.0
// Integer tile kernels return the bits of the scalar model: every offset, group kind and activation, M in
// 1..33, K and N off every multiple, split over tasks.
#include <gtest/gtest.h>

#include "support/amx/tile_layer.hpp"
#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;

// The rows of difficult_rows, twice: 33 rows fill a square of tiles and leave one over.
std::vector<float> rows_of_x(std::size_t k) {
  std::vector<float> x = test::difficult_rows(k, k + 1);
  x.insert(x.end(), x.begin(), x.end() - static_cast<std::ptrdiff_t>(k));
  return x;
}

template <class F, class Activation>
void expect_model(std::size_t n, std::size_t k, std::initializer_list<std::size_t> heights,
                  std::size_t dynamic) {
  SCOPED_TRACE("N = " + std::to_string(n) + ", K = " + std::to_string(k));
  const auto weights = test::random_weights<F>(n, k, dynamic, k);
  const auto x = rows_of_x(k), bias = test::random_floats(n, k + 2);
  const auto expected = test::integer_model<F, Activation>(weights, x, 33, bias);
  test::for_each_tile_kernel<F, Activation>(weights.view(), bias, [&](const AnyLinear& kernel) {
    for (const std::size_t m : heights) {
      test::expect_same(test::run_layer(kernel, x.data(), m, test::LastTaskFirst{m % 2 + 1}), m, n, expected,
                        n);
      EXPECT_FALSE(amx_emulator::tiles_configured()) << "after M = " << m;
    }
  });
}

template <class F, class... Activations>
void expect_models(std::size_t k, std::size_t dynamic = 0) {
  (expect_model<F, Activations>(37, k, {1, 8, 17, 33}, dynamic), ...);
}

TEST(TileInteger, EveryNumberOfRows) {
  using F = Int4<32>;
  const auto weights = test::random_weights<F>(17, 70, 0, 1);
  const auto x = rows_of_x(70), bias = test::random_floats(17, 2);
  const auto expected = test::integer_model<F, DynamicInt8>(weights, x, 33, bias);
  test::for_each_tile_kernel<F, DynamicInt8>(weights.view(), bias, [&](const AnyLinear& kernel) {
    for (std::size_t m = 1; m <= 33; ++m)
      test::expect_same(test::run_layer(kernel, x.data(), m), m, 17, expected, 17);
  });
}
TEST(TileInteger, Group32) {
  expect_models<Int4<32, Float16>, DynamicInt8, DynamicInt16>(71);
  expect_models<Int8Zero<32, float>, DynamicInt8PerGroup, DynamicInt16PerGroup>(96);
}
TEST(TileInteger, Group48InOneShorterStep) {
  expect_models<Int4Min<48, Float16>, DynamicInt8, DynamicInt16>(143);
}
TEST(TileInteger, Group96InTwoSteps) {
  expect_models<Int8Min<96, float>, DynamicInt8, DynamicInt16>(250);
}
TEST(TileInteger, Group128) {
  expect_models<Int4<128>, DynamicInt8, DynamicInt16>(384);
  expect_models<Int4Zero<128>, DynamicInt8PerGroup, DynamicInt16>(131);
  expect_models<Int8<128>, DynamicInt8, DynamicInt16>(257);
}
TEST(TileInteger, Group640LongerThanABlock) {
  expect_models<Int4Zero<640, Float16>, DynamicInt16>(1291);
}
TEST(TileInteger, PerChannel) {
  expect_models<Int8<per_channel, float>, DynamicInt8, DynamicInt16>(1037);
  expect_models<Int4<per_channel, float>, DynamicInt8>(61);
}
TEST(TileInteger, TablesAndSuperBlocks) {
  expect_models<MxFp4, DynamicInt8, DynamicInt16>(71);
  expect_models<Iq4Nl<32>, DynamicInt8>(130);
  expect_models<Q4K, DynamicInt8, DynamicInt16>(300);
  expect_models<Q6K, DynamicInt8, DynamicInt16>(556);
}
TEST(TileInteger, GroupKnownAtRunTimeOnly) {
  for (const std::size_t group : {7u, 16u, 100u, 600u}) {
    SCOPED_TRACE("group " + std::to_string(group));
    expect_models<Int4Zero<dynamic_group, float>, DynamicInt8>(613, group);
    expect_models<Int8<dynamic_group, float>, DynamicInt16>(613, group);
  }
}
TEST(TileInteger, DeepKMeetsSeveralChunks) {
  expect_models<Int4<8, Float16>, DynamicInt8>(1100);
  expect_models<Int4<64>, DynamicInt16>(1600);
}
TEST(TileInteger, NoDepthGivesTheBias) {
  expect_model<Int4<32>, DynamicInt8>(21, 0, {8, 33}, 0);
}
TEST(TileInteger, OneKOneColumn) {
  expect_model<Int4<32>, DynamicInt8>(1, 1, {1, 33}, 0);
}

// Rows beyond the first 128 begin a new block of the workspace.
TEST(TileInteger, MoreRowsThanAWorkspace) {
  using F = Int4<64>;
  const auto weights = test::random_weights<F>(32, 64, 0, 1);
  const auto x = test::random_floats(161 * 64, 2);
  const auto expected = test::integer_model<F, DynamicInt8>(weights, x, 161, {});
  test::for_each_tile_kernel<F, DynamicInt8>(weights.view(), {}, [&](const AnyLinear& kernel) {
    test::expect_same(test::run_layer(kernel, x.data(), 161), 161, 32, expected, 32);
  });
}

}
