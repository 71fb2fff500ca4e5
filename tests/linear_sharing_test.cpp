// SPDX-License-Identifier: Apache-2.0
// Threads, copies and layers that share: the same bits for any split of the work, from any pool, on one set
// of panels.
#include <gtest/gtest.h>

#include <thread>

#include "edgeq/thread_pool.hpp"
#include "support/late_kernel.hpp"
#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;

using F = Int4Min<48, Float16>;
constexpr std::size_t m = 9, n = 130, k = 301;

class Sharing : public testing::Test {
 protected:
  const test::Weights<F> weights = test::random_weights<F>(n, k, 0, 1);
  const std::vector<float> x = test::random_floats(m * k, 2), bias = test::random_floats(n, 3);
  const std::vector<float> expected = test::integer_model<F, DynamicInt16>(weights, x, m, bias);
  const AnyLinear layer = test::pack<F, DynamicInt16, DynamicInt8, F32>(weights.view(), bias);
};

TEST_F(Sharing, AnyPoolGivesTheSameBits) {
  for (const std::size_t threads : {1u, 2u, 3u, 4u, 16u}) {
    const ThreadPool pool(threads);
    test::for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
      test::expect_same(test::run_layer(kernel, x.data(), m, pool), m, n, expected, n);
      test::expect_same(test::run_layer(kernel, x.data(), 1, pool), 1, n, expected, n);
    });
  }
}

// Float activations promise no bits across kernels, but each kernel gives its own for any split of columns.
TEST_F(Sharing, AnyPoolGivesTheSameFloatSums) {
  const ThreadPool pool(3);
  test::for_each_kernel(*layer.with("f32"), [&](const AnyLinear& kernel, const char*) {
    const auto alone = test::run_layer(kernel, x.data(), m);
    test::expect_same(test::run_layer(kernel, x.data(), m, pool), alone);
    test::expect_same(test::run_layer(kernel, x.data(), m, test::LastTaskFirst{5}), alone);
  });
}

TEST_F(Sharing, PanelsDoNotDependOnTheThreadsThatPack) {
  const ThreadPool pool(3);
  const std::size_t bytes = layer.weight().geometry().packed_bytes();
  const auto by_pool = PackedWeight::pack<F>(weights.view(), {}, pool);
  const auto backwards = PackedWeight::pack<F>(weights.view(), {}, test::LastTaskFirst{100});
  ASSERT_TRUE(by_pool && backwards);
  EXPECT_EQ(std::memcmp(by_pool->panels(), layer.weight().panels(), bytes), 0);
  EXPECT_EQ(std::memcmp(backwards->panels(), layer.weight().panels(), bytes), 0);
}

TEST_F(Sharing, CopiesAndOtherActivationsShareThePanels) {
  const AnyLinear copy = layer;
  EXPECT_EQ(copy.weight().panels(), layer.weight().panels());
  EXPECT_EQ(layer.with("int8")->weight().panels(), layer.weight().panels());
  const auto typed = Linear<F>::pack(weights.view(), std::span<const float>(bias));
  ASSERT_TRUE(typed);
  const auto other = typed->with<DynamicInt8>();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->weight().panels(), typed->weight().panels());
  test::expect_same(test::run_layer(*other, x.data(), m),
                    test::integer_model<F, DynamicInt8>(weights, x, m, bias));
}

// A bias of any stored type is its float value.
TEST_F(Sharing, BiasOfAnyType) {
  std::vector<BFloat16> bf16(n);
  std::vector<Float16> f16(n);
  std::vector<float> f32(n);
  for (std::size_t i = 0; i < n; ++i) {
    f32[i] = static_cast<float>(i) - 64.0f;  // exact in all three
    bf16[i] = BFloat16::from_float(f32[i]);
    f16[i] = Float16::from_float(f32[i]);
  }
  const auto with_bias = test::integer_model<F, DynamicInt16>(weights, x, m, f32);
  for (const Bias& stored : {Bias(std::span<const float>(f32)), Bias(std::span<const BFloat16>(bf16)),
                             Bias(std::span<const Float16>(f16))}) {
    const auto typed = Linear<F>::pack(weights.view(), stored);
    ASSERT_TRUE(typed);
    test::expect_same(test::run_layer(*typed, x.data(), m), with_bias);
  }
}

// Activations prepared once serve every layer of the same K and group that says so.
TEST_F(Sharing, OnePreparationServesLayersThatShare) {
  const auto others = test::random_weights<Int4<48, float>>(35, k, 0, 4);
  const auto typed = Linear<Int4<48, float>>::pack(others.view());
  ASSERT_TRUE(typed);
  ASSERT_TRUE(layer.shares_activations_with(*typed));
  Prepared prepared;
  ASSERT_TRUE(layer.prepare(prepared, {x.data(), m, k}));
  std::vector<float> y(m * 35);
  typed->run(prepared, {y.data(), m, 35});
  test::expect_same(y, test::integer_model<Int4<48, float>, DynamicInt16>(others, x, m, {}));

  const auto wider = Linear<Int4<32, float>>::pack(test::Weights<Int4<32, float>>(1, k).view());
  const auto deeper = Linear<Int4<48, float>>::pack(test::Weights<Int4<48, float>>(1, k + 1).view());
  EXPECT_FALSE(layer.shares_activations_with(*wider)) << "another group";
  EXPECT_FALSE(layer.shares_activations_with(*deeper)) << "another K";
  EXPECT_FALSE(layer.with("int8")->shares_activations_with(*typed)) << "another activation";
  EXPECT_FALSE(typed->shares_activations_with(
      *Linear<Int4<48, float>>::pack(others.view(), {}, InlineExecutor{}, CpuFeatures{})))
      << "another processor";
  // Groups of 600 are summed in blocks of 512, or of 256 for bytes with a minimum: other sums of x.
  const auto nibbles = Linear<Int4Min<600>>::pack(test::Weights<Int4Min<600>>(1, 600).view());
  const auto bytes = Linear<Int8Min<600>>::pack(test::Weights<Int8Min<600>>(1, 600).view());
  EXPECT_FALSE(nibbles->shares_activations_with(*bytes)) << "other blocks";
}

// Layers that say they share do, at every M: one runs on what the other prepared, to the bit. Both ways
// agree.
TEST_F(Sharing, WhatSaysItSharesDoes) {
  using Fp8 = Fp8Block<16, 48>;
  const auto nibbles = test::random_weights<Int4<48>>(n, k, 0, 5);
  const auto bytes = test::random_weights<Int8<48, float>>(n, k, 0, 6);
  const auto floats = test::random_weights<Fp8>(n, k, 0, 7);
  std::vector<AnyLinear> layers;
  const auto add = [&](const AnyLinear& all, std::initializer_list<const char*> activations) {
    for (const char* activation : activations)
      test::for_each_kernel(*all.with(activation)->with_range({0.01f, 3}),
                            [&](const AnyLinear& kernel, const char*) { layers.push_back(kernel); });
  };
  const auto add_integer = [&](const AnyLinear& all) {
    layers.push_back(all);
    add(all, {"int8", "int8/group", "int8/zero", "int8/static", "int16", "f32", "bf16"});
  };
  using All =
      ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt8Zero, StaticInt8, DynamicInt16, F32, Bf16>;
  add_integer(*AnyLinear::pack<Int4<48>, All>(nibbles.view()));
  add_integer(*AnyLinear::pack<Int8<48, float>, All>(bytes.view()));
  add(*AnyLinear::pack<Fp8, ActivationList<F32, Bf16>>(floats.view()), {"f32", "bf16"});
  std::size_t sharing = 0;
  for (const AnyLinear& one : layers)
    for (const AnyLinear& other : layers) {
      ASSERT_EQ(one.shares_activations_with(other), other.shares_activations_with(one));
      if (!one.shares_activations_with(other)) continue;
      ++sharing;
      SCOPED_TRACE(one.plan(m).to_string() + other.plan(m).to_string());
      EXPECT_STREQ(one.activation(), other.activation());
      for (const std::size_t rows : {std::size_t{1}, m}) {
        Prepared prepared;
        ASSERT_TRUE(one.prepare(prepared, {x.data(), rows, k}));
        std::vector<float> y(rows * n);
        other.run(prepared, {y.data(), rows, n});
        test::expect_same(y, test::run_layer(other, x.data(), rows));
      }
    }
  EXPECT_GT(sharing, layers.size()) << "no layer shares with any but itself";
}

// The same kernels, prepared with other ranges, or by kernels that read another form at some M.
TEST_F(Sharing, NeedsOneRangeAndOneForm) {
  using G = Int8<48, float>;
  const auto others = test::random_weights<G>(7, k, 0, 4);
  const AnyLinear ranges = test::pack<G, StaticInt8>(others.view());
  const auto shares = [](const AnyLinear& one, const AnyLinear& other) {
    EXPECT_EQ(one.shares_activations_with(other), other.shares_activations_with(one));
    return one.shares_activations_with(other);
  };
  const AnyLinear ranged = *ranges.with_range({0.5f, 3});
  EXPECT_TRUE(shares(ranged, *ranges.with_range({0.5f, 3})));
  EXPECT_FALSE(shares(ranged, *ranges.with_range({0.5f, 4}))) << "another zero";
  EXPECT_FALSE(shares(ranged, *ranges.with_range({0.25f, 3}))) << "another scale";
  EXPECT_FALSE(shares(ranged, ranges)) << "no range";

  const auto on = [&]<class... Isas>(IsaList<Isas...>) {
    return AnyLinear(*Linear<G, DynamicInt8, IsaList<Isas...>>::pack(others.view()));
  };
  using Late = test::isa::late;
  const AnyLinear generic = on(IsaList<isa::generic>{}), both = on(IsaList<Late, isa::generic>{});
  EXPECT_TRUE(shares(both, on(IsaList<Late, isa::generic>{})));
  EXPECT_FALSE(shares(both, generic)) << "alike at one row, not at four";
  EXPECT_FALSE(shares(*both.only("late"), generic)) << "one function prepares both, in two layouts";
  EXPECT_TRUE(shares(*both.only("generic"), generic));
}

// A workspace that served a larger call serves a smaller one: nothing of the former is left.
TEST_F(Sharing, WorkspaceIsReusable) {
  const auto small = test::random_weights<Int8<per_channel, float>>(5, 17, 0, 5);
  const auto other = Linear<Int8<per_channel, float>>::pack(small.view());
  ASSERT_TRUE(other);
  test::for_each_kernel(layer, [&](const AnyLinear& kernel, const char* name) {
    Prepared prepared;
    ASSERT_TRUE(kernel.prepare(prepared, {x.data(), m, k}));
    const auto* memory = prepared.data();
    const auto other_kernel = other->only(name);
    ASSERT_TRUE(other_kernel->prepare(prepared, {x.data(), 2, 17}));
    EXPECT_EQ(prepared.data(), memory) << "allocated again";
    EXPECT_EQ(prepared.rows(), 2u);
    std::vector<float> y(2 * 5);
    other_kernel->run(prepared, {y.data(), 2, 5});
    test::expect_same(y, test::integer_model<Int8<per_channel, float>, DynamicInt16>(small, x, 2, {}));
  });
}

TEST_F(Sharing, OneLayerServesSeveralThreadsAtOnce) {
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (auto& y : results)
    threads.emplace_back([&] {
      y.resize(m * n);
      Prepared prepared;
      for (int repeat = 0; repeat < 20; ++repeat) {
        if (!layer.prepare(prepared, {x.data(), m, k})) return;
        layer.run(prepared, {y.data(), m, n});
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& y : results) test::expect_same(y, m, n, expected, n);
}

}
