// SPDX-License-Identifier: Apache-2.0
// Other code in the process uses AMX too: its configuration survives our calls, ours survives its own, and
// threads do not meet.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "edgeq/thread_pool.hpp"
#include "support/amx/tile_layer.hpp"

namespace {

using namespace edgeq;
using Format = Int4<32>;

/// What another library might have loaded: tiles of eight rows.
amx::TileConfig foreign() {
  amx::TileConfig config;
  for (std::size_t tile = 0; tile < 8; ++tile) config.set(tile, 8, 32);
  return config;
}
amx::TileConfig current() {
  amx::TileConfig config;
  asm volatile("sttilecfg %0" : "=m"(config));
  return config;
}
bool equal(const amx::TileConfig& a, const amx::TileConfig& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

struct Problem {
  static constexpr std::size_t m = 33, n = 48, k = 160;
  test::Weights<Format> weights = test::random_weights<Format>(n, k, 0, 1);
  std::vector<float> x = test::random_floats(m * k, 2);
  std::vector<float> expected = test::integer_model<Format, DynamicInt8>(weights, x, m, {});
};

TEST(TileSession, AForeignConfigurationSurvivesOurCalls) {
  const Problem p;
  test::for_each_tile_kernel<Format, DynamicInt8>(p.weights.view(), {}, [&](const AnyLinear& kernel) {
    const amx::TileConfig theirs = foreign();
    asm volatile("ldtilecfg %0" : : "m"(theirs) : "memory");
    for (int call = 0; call < 2; ++call) {
      test::expect_same(test::run_layer(kernel, p.x.data(), p.m), p.m, p.n, p.expected, p.n);
      EXPECT_TRUE(equal(current(), theirs)) << "call " << call;
    }
    asm volatile("tilerelease" : : : "memory");
    test::expect_same(test::run_layer(kernel, p.x.data(), p.m), p.m, p.n, p.expected, p.n);
    EXPECT_EQ(current().palette, 0);
  });
}

TEST(TileSession, ThreadsHaveTilesOfTheirOwn) {
  const Problem p;
  test::for_each_tile_kernel<Format, DynamicInt8>(p.weights.view(), {}, [&](const AnyLinear& kernel) {
    const ThreadPool pool(2);
    test::expect_same(test::run_layer(kernel, p.x.data(), p.m, pool), p.m, p.n, p.expected, p.n);
    std::vector<float> y[2];
    std::thread first([&] { y[0] = test::run_layer(kernel, p.x.data(), p.m); });
    std::thread second([&] { y[1] = test::run_layer(kernel, p.x.data(), p.m); });
    first.join();
    second.join();
    for (const std::vector<float>& found : y) test::expect_same(found, p.m, p.n, p.expected, p.n);
  });
}

}
