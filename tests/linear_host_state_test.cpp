// SPDX-License-Identifier: Apache-2.0
// Zero, negative and subnormal scales keep their value, also in a program that flushes subnormals or rounds
// upward, and its settings survive.
#include <gtest/gtest.h>

#include "edgeq/thread_pool.hpp"
#include "support/host_state.hpp"
#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;

// One column for each scale; W = scale.
template <class Scale>
test::Weights<Int4<per_channel, Scale>> one_column_each(const std::vector<Scale>& scales) {
  test::Weights<Int4<per_channel, Scale>> weights(scales.size(), 3);
  weights.set_codes(8);
  for (std::size_t n = 0; n < scales.size(); ++n) weights.set_code(n, 0, 9);
  weights.scales = scales;
  return weights;
}

template <class F>
void expect_scales_kept(const test::Weights<F>& weights, float first) {
  const std::vector<float> x = {first, 0.0f, 0.0f};
  std::vector<float> exact;
  for (std::size_t n = 0; n < weights.n; ++n)
    exact.push_back(first * static_cast<float>(weights.scale(n, 0)));
  const auto integer = test::integer_model<F, DynamicInt16>(weights, x, 1, {}),
             with_zero = test::integer_model<F, DynamicInt8Zero>(weights, x, 1, {});
  for (const bool flush : {false, true})
    for (const bool upward : {false, true}) {
      SCOPED_TRACE(std::string(flush ? "flushing " : "") + (upward ? "rounding upward" : ""));
      const auto compare = [&](const AnyLinear& layer, const std::vector<float>& expected) {
        for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
          std::vector<float> y(weights.n, std::nanf(""));
          Prepared prepared;
          bool unchanged = false;
          {
            const test::HostState state(flush, upward);
            if (!kernel.prepare(prepared, {x.data(), 1, 3})) return;
            kernel.run(prepared, {y.data(), 1, weights.n});
            unchanged = state.unchanged();
          }
          EXPECT_TRUE(unchanged) << "the kernel left other floating-point settings behind";
          test::expect_same(y, expected);
        });
      };
      const AnyLinear layer = [&] {
        const test::HostState state(flush, upward);
        return test::pack<F, F32, DynamicInt16, DynamicInt8Zero>(weights.view());
      }();
      compare(layer, exact);
      compare(*layer.with("int16"), integer);
      compare(*layer.with("int8/zero"), with_zero);  // which needs the sums of the columns, found by pack
    }
}

TEST(Scale, Float16KeepsItsValue) {
  const auto weights = one_column_each<Float16>({{0x0000}, {0x0001}, {0x03FF}, {0x0400}, {0x8001}, {0xBC00}});
  expect_scales_kept(weights, 0x1p24f);
  expect_scales_kept(weights, 1.0f);
  // By hand, for the first four: 2^24 times 0, 2^-24, 1023 * 2^-24, 2^-14.
  const float x[] = {0x1p24f, 0.0f, 0.0f};
  for_each_kernel(test::pack<Int4<per_channel, Float16>, F32>(weights.view(4)),
                  [&](const AnyLinear& kernel, const char*) {
                    EXPECT_EQ(test::run_layer(kernel, x, 1), (std::vector<float>{0, 1, 1023, 1024}));
                  });
}
TEST(Scale, BFloat16KeepsItsValue) {
  const auto weights =
      one_column_each<BFloat16>({{0x0000}, {0x0001}, {0x007F}, {0x0080}, {0x8001}, {0xBF80}});
  expect_scales_kept(weights, 0x1p100f);
  expect_scales_kept(weights, 1.0f);  // results are subnormal
}
TEST(Scale, Float32KeepsItsValue) {
  const auto weights = one_column_each<float>({0.0f, 0x1p-149f, 0x1.fffffcp-127f, -0x1p-140f, -3.0f});
  expect_scales_kept(weights, 0x1p100f);
  expect_scales_kept(weights, 1.0f);
}

// Random data under every setting, also on the threads of a pool that inherit it.
TEST(HostState, ChangesNoBit) {
  using F = Int8Min<32, Float16>;
  constexpr std::size_t m = 5, n = 37, k = 77;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  auto x = test::random_floats(m * k, 2);
  for (std::size_t i = 0; i < k; ++i) x[i] *= 0x1p-120f;  // prepared from, and into, the edge of subnormals
  const auto bias = test::random_floats(n, 3);
  const AnyLinear layer =
      test::pack<F, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, DynamicInt8Zero, StaticInt8, F32, Bf16>(
          weights.view(), bias);
  for (const char* activation : {"int8", "int8/group", "int16", "int8/zero", "int8/static", "f32", "bf16"})
    for_each_kernel(*layer.with(activation)->with_range({0x1p-127f, 3}),
                    [&](const AnyLinear& kernel, const char*) {
                      const auto expected = test::run_layer(kernel, x.data(), m);
                      for (const bool flush : {false, true}) {
                        std::vector<float> inline_y, pool_y;
                        {
                          const test::HostState state(flush, true);
                          const ThreadPool pool(2);
                          inline_y = test::run_layer(kernel, x.data(), m);
                          pool_y = test::run_layer(kernel, x.data(), m, pool);
                        }
                        test::expect_same(inline_y, expected);
                        test::expect_same(pool_y, expected);
                      }
                    });
}

// Sums of columns whose terms each round, up or to even: the layer that was packed under any setting is the
// one that was packed under none.
TEST(HostState, LeavesColumnSumsAlone) {
  using F = Int8Min<32, float>;
  constexpr std::size_t n = 37, k = 1291;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const std::vector<float> x(k, 1.0f);
  const auto pool_layer = [&] {
    const test::HostState state(true, true);
    const ThreadPool pool(2);
    return AnyLinear::pack<F, ActivationList<DynamicInt8Zero>>(weights.view(), {}, pool);
  }();
  ASSERT_TRUE(pool_layer);
  const auto expected = test::integer_model<F, DynamicInt8Zero>(weights, x, 1, {});
  for_each_kernel(*pool_layer, [&](const AnyLinear& kernel, const char*) {
    test::expect_same(test::run_layer(kernel, x.data(), 1), expected);
  });
}

// FP8, whose codes have subnormal numbers of their own and whose scales may be subnormal floats.
TEST(HostState, KeepsTheValuesOfFp8) {
  using F = Fp8Channel<Float8E5M2>;
  test::Weights<F> weights(256, 1);
  for (std::size_t n = 0; n < 256; ++n) weights.codes[n] = static_cast<std::uint8_t>(n);
  const float one = 1.0f;
  for (const float scale : {1.0f, 0x1p-120f, 0x1p-140f}) {
    weights.scales.assign(256, scale);
    for (const bool flush : {false, true}) {
      std::vector<AnyLinear> layers;
      {
        const test::HostState state(flush, true);
        layers.push_back(test::pack<F, F32>(weights.view()));
      }
      for_each_kernel(layers[0], [&](const AnyLinear& kernel, const char*) {
        std::vector<float> y;
        {
          const test::HostState state(flush, true);
          y = test::run_layer(kernel, &one, 1);
        }
        for (std::size_t n = 0; n < 256; ++n)
          EXPECT_TRUE(test::same(y[n], weights.value(n, 0) + 0.0f)) << "code " << n << ", scale " << scale;
      });
    }
  }
}

// A row of W is the format's decode, whatever the program has set.
TEST(HostState, LeavesDequantizedRowsAlone) {
  const auto bf16 = one_column_each<BFloat16>({{0x0001}, {0x807F}});
  const AnyLinear small = test::pack<Int4<per_channel, BFloat16>, F32>(bf16.view());
  float first[3], second[3];
  {
    const test::HostState state(true, false);
    small.dequantize_row(0, first);
    small.dequantize_row(1, second);
  }
  EXPECT_EQ(first[0], 0x1p-133f);
  EXPECT_EQ(second[0], -127 * 0x1p-133f);

  const auto f32 = test::random_weights<Int8Zero<32, float>>(1, 64, 0, 1);
  const AnyLinear rounded = test::pack<Int8Zero<32, float>, F32>(f32.view());
  float row[64];
  {
    const test::HostState state(false, true);
    rounded.dequantize_row(0, row);
  }
  for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(row[k], f32.value(0, k)) << "k = " << k;
}

}
