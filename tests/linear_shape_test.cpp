// SPDX-License-Identifier: Apache-2.0
// Empty shapes, odd groups and zero points, as small cases whose right value is known by hand.
#include <gtest/gtest.h>

#include "edgeq/thread_pool.hpp"
#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;

TEST(EmptyShape, NoRowsAndNoColumnsTouchNothing) {
  using F = Int4<32, BFloat16>;
  const ThreadPool pool(4);
  for (const auto& [m, n] : {std::pair{0u, 64u}, {0u, 0u}, {3u, 0u}}) {
    const test::Weights<F> weights(n, 64);
    const std::vector<float> x(m * 64);
    const AnyLinear layer =
        test::pack<F, DynamicInt8, DynamicInt8Zero, DynamicInt16, F32, Bf16>(weights.view());
    for (const char* activation : {"int8", "int8/zero", "int16", "f32", "bf16"})
      for_each_kernel(*layer.with(activation), [&, m = m, n = n](const AnyLinear& kernel, const char*) {
        const auto run = [&](const auto& executor) {
          Prepared prepared;
          ASSERT_TRUE(kernel.prepare(prepared, {m == 0 ? nullptr : x.data(), m, 64}, executor));
          EXPECT_EQ(prepared.rows(), m);
          kernel.run(prepared, {static_cast<float*>(nullptr), m, n}, executor);
        };
        run(InlineExecutor{});
        run(pool);
        run(test::LastTaskFirst{4});
      });
  }
}

template <class F, class... Activations>
void expect_bias_for_no_depth() {
  const test::Weights<F> weights(21, 0);
  const auto bias = test::random_floats(21, 1);
  for (const bool has_bias : {false, true}) {
    const AnyLinear layer =
        test::pack<F, Activations...>(weights.view(), has_bias ? bias : std::vector<float>());
    EXPECT_EQ(layer.weight().geometry().packed_bytes(), 0u);
    for (const char* activation : {Activations::name...})
      for_each_kernel(*layer.with(activation), [&](const AnyLinear& kernel, const char*) {
        for (const std::size_t tasks : {1u, 4u}) {
          const auto y = run_layer(kernel, nullptr, 3, test::LastTaskFirst{tasks});
          for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], has_bias ? bias[i % 21] : 0.0f);
        }
      });
  }
}
TEST(EmptyShape, NoDepthGivesTheBias) {
  expect_bias_for_no_depth<Int4<32, BFloat16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, F32>();
  expect_bias_for_no_depth<Int8Min<per_tensor, float>, DynamicInt16PerGroup, F32>();
  expect_bias_for_no_depth<Int4Zero<per_channel, float>, DynamicInt16>();
  expect_bias_for_no_depth<Int8Zero<32, float>, DynamicInt8Zero, Bf16>();
  expect_bias_for_no_depth<F16Weight, F32>();
  expect_bias_for_no_depth<Fp8Block<>, F32, Bf16>();
}

// A last group of 8 of 32: +1 and -1 in each of 40 columns.
TEST(OddShape, LastGroupIsShort) {
  using F = Int4<32, float>;
  test::Weights<F> weights(2, 40);
  weights.set_scales(1.0f);
  for (std::size_t k = 0; k < 40; ++k) {
    weights.set_code(0, k, 9);
    weights.set_code(1, k, 7);
  }
  const std::vector<float> x(40, 1.0f);
  const AnyLinear layer = test::pack<F, F32, DynamicInt16>(weights.view());
  for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, x.data(), 1), (std::vector<float>{40.0f, -40.0f}));
  });
  // The scale 1/32512 of the codes is rounded once, the product once: 2 * 2^-24 of 40.
  for_each_kernel(*layer.with("int16"), [&](const AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), 1);
    EXPECT_NEAR(y[0], 40.0f, 40 * 2 * 0x1p-24);
    EXPECT_EQ(y[1], -y[0]);
  });
}

// Codes 2, zeros 3 and scale 1/2 at any group: K = 3072 weights of -1/2. Then group j has the scale
// 2^-(j mod 8), which unit vectors at both ends of every group make visible.
void expect_any_group_right(std::size_t group) {
  SCOPED_TRACE("group " + std::to_string(group));
  using F = Int4Zero<dynamic_group, BFloat16>;
  constexpr std::size_t k = 3072, n = 4;
  test::Weights<F> weights(n, k, group);
  weights.set_codes(2);
  weights.set_scales(0.5f);
  weights.zeros.assign(weights.zeros.size(), 3);
  const AnyLinear sums = test::pack<F, F32>(weights.view());
  for_each_kernel(sums, [&](const AnyLinear& kernel, const char*) {
    const std::vector<float> ones(k, 1.0f);
    EXPECT_EQ(run_layer(kernel, ones.data(), 1), std::vector<float>(n, -1536.0f));
  });

  for (std::size_t i = 0; i < weights.scales.size(); ++i)
    weights.scales[i] = from_float<BFloat16>(std::ldexp(1.0f, -static_cast<int>(i % weights.groups % 8)));
  std::vector<std::size_t> at;
  for (std::size_t g = 0; g < weights.groups && at.size() < 64; ++g) {
    at.push_back(g * group);
    at.push_back(std::min(k, (g + 1) * group) - 1);
  }
  std::vector<float> x(at.size() * k, 0.0f);
  for (std::size_t i = 0; i < at.size(); ++i) x[i * k + at[i]] = 1.0f;
  const AnyLinear units = test::pack<F, F32>(weights.view());
  for_each_kernel(units, [&](const AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), at.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], -std::ldexp(1.0f, -static_cast<int>(at[i / n] / group % 8))) << "k = " << at[i / n];
  });
}
TEST(OddShape, AnyGroup) {
  for (const std::size_t group : {1u, 3u, 16u, 32u, 48u, 64u, 96u, 128u, 256u, 512u, 1000u, 1024u, 3072u})
    expect_any_group_right(group);
}

// A zero of 0 is not the midpoint, and a byte's zero has 8 bits.
TEST(ZeroPoint, EveryValueCounts) {
  using F = Int4Zero<per_channel, float>;
  test::Weights<F> weights(8, 1);
  weights.set_codes(8);
  weights.set_scales(1.0f);
  weights.zeros = {0, 8, 8, 8, 8, 8, 8, 8};
  const float one = 1.0f;
  for_each_kernel(test::pack<F, F32>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, &one, 1), (std::vector<float>{8, 0, 0, 0, 0, 0, 0, 0}));
  });

  using G = Int8Zero<per_channel, float>;
  test::Weights<G> bytes(256, 1);
  bytes.set_codes(128);
  bytes.set_scales(1.0f);
  for (std::size_t i = 0; i < 256; ++i) bytes.zeros[i] = static_cast<std::uint8_t>(i);
  const float limit = 32512.0f;  // so that the scale of the codes is 1
  const AnyLinear layer = test::pack<G, F32, DynamicInt16>(bytes.view());
  for (const char* activation : {"f32", "int16"})
    for_each_kernel(*layer.with(activation), [&](const AnyLinear& kernel, const char*) {
      const auto y = run_layer(kernel, &limit, 1);
      for (std::size_t i = 0; i < 256; ++i)
        EXPECT_EQ(y[i], limit * static_cast<float>(128 - static_cast<int>(i))) << "zero " << i;
    });
}

}
