// SPDX-License-Identifier: Apache-2.0
// Every target of Highway that this machine runs, against the generic kernels: the same bits for integer
// activations, the documented bound for float ones.
#include <gtest/gtest.h>

// The targets that kernels.cc compiles.
#define HWY_DISABLED_TARGETS HWY_SCALAR
#define HWY_BROKEN_EMU128 0
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <string>

#include "support/integer_grid.hpp"

using namespace edgeq;

namespace {

using Isas = IsaList<isa::highway, isa::generic>;
using IntegerActivations = ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16,
                                          DynamicInt16PerGroup, DynamicInt8Zero, StaticInt8>;

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

AnyLinear only(const AnyLinear& layer, const char* isa) {
  auto kernel = layer.only(isa);
  if (!kernel) ADD_FAILURE() << kernel.error().message;
  return std::move(*kernel);
}

/// Nine of the difficult rows [9, K]: of all sizes, one zero, one with an outlier, one with NaN, one with
/// Inf.
std::vector<float> nine_rows(std::size_t k) {
  const std::vector<float> all = test::difficult_rows(k, k);
  std::vector<float> x;
  for (const std::size_t row : {0u, 7u, 3u, 5u, 8u, 16u, 11u, 13u, 15u})
    x.insert(x.end(), all.begin() + static_cast<std::ptrdiff_t>(row * k),
             all.begin() + static_cast<std::ptrdiff_t>((row + 1) * k));
  return x;
}

/// First row of x, M, N: every height of a tile, every N that leaves a panel partly or wholly filled.
constexpr std::size_t shapes[][3] = {{1, 1, 130}, {2, 2, 37}, {3, 3, 16}, {5, 4, 130}, {4, 5, 1},
                                     {0, 9, 37},  {6, 1, 1},  {7, 1, 37}, {0, 9, 130}, {3, 1, 16}};

/// The prepared rows of the two layers agree wherever the layout says there is something.
template <class Activation>
void expect_same_prepared(const AnyLinear& highway, const AnyLinear& generic, const std::vector<float>& x) {
  const PanelGeometry& geometry = generic.weight().geometry();
  const PreparedLayout layout = PreparedLayout::of_codes<Activation>(geometry);
  const std::size_t scales = Activation::per_group ? geometry.groups : Activation::has_zero ? 2 : 1;
  const std::size_t used = layout.scales_offset + scales * sizeof(float);
  Prepared found, wanted;
  ASSERT_TRUE(highway.prepare(found, {x.data(), 9, generic.k()}));
  ASSERT_TRUE(generic.prepare(wanted, {x.data(), 9, generic.k()}));
  for (std::size_t row = 0; row < 9; ++row)
    ASSERT_EQ(
        std::memcmp(found.data() + row * layout.row_bytes, wanted.data() + row * layout.row_bytes, used), 0)
        << "prepared row " << row;
}

template <class Activation>
void expect_generic_bits(const std::vector<AnyLinear>& layers, const std::vector<float>& x) {
  std::vector<AnyLinear> kernels;
  for (const AnyLinear& layer : layers) kernels.push_back(only(*layer.with(Activation::name), "highway"));
  const AnyLinear generic = only(*layers.back().with(Activation::name), "generic");
  SCOPED_TRACE(generic.format() + " x " + generic.activation());
  const std::vector<float> expected = test::run_layer(generic, x.data(), 9);
  for_each_target([&] {
    expect_same_prepared<Activation>(kernels.back(), generic, x);
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
      const auto [first, m, n] = shapes[i];
      const std::vector<float> y =
          test::run_layer(kernels[i], x.data() + first * generic.k(), m, test::LastTaskFirst{i % 3 + 1});
      const std::vector<float> part(expected.begin() + static_cast<std::ptrdiff_t>(first * 130),
                                    expected.end());
      test::expect_same(y, m, n, part, 130);
    }
  });
}

template <class F, class... Activations>
void expect_generic_bits(ActivationList<Activations...>) {
  // Groups that divide K and that do not, longer than K, shorter than a line, longer than an accumulation
  // block.
  for (const auto [k, group] :
       {Depth{1, 1}, {7, 3}, {48, 32}, {100, 48}, {100, 128}, {1000, 600}, {1000, 32}}) {
    SCOPED_TRACE("K = " + std::to_string(k) + ", group " + std::to_string(group));
    const test::Weights<F> weights = test::random_weights<F>(130, k, group, k);
    const std::vector<float> x = nine_rows(k), bias = test::random_floats(130, k);
    std::vector<AnyLinear> with_bias, without;
    for (const auto& shape : shapes) {
      with_bias.push_back(pack<F, IntegerActivations>(weights, shape[2], bias));
      without.push_back(pack<F, IntegerActivations>(weights, shape[2], {}));
    }
    // The last layer is the expectation for all, so N = 130.
    with_bias.push_back(pack<F, IntegerActivations>(weights, 130, bias));
    without.push_back(pack<F, IntegerActivations>(weights, 130, {}));
    (expect_generic_bits<Activations>(group % 2 == 0 ? with_bias : without, x), ...);
    if (testing::Test::HasFailure()) return;
  }
}

template <class Codec, class Offset>
void expect_generic_bits_of_scales() {
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, float>>(IntegerActivations{});
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, Float16>>(IntegerActivations{});
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, BFloat16>>(IntegerActivations{});
}

TEST(Highway, IntegerBits4Symmetric) {
  expect_generic_bits_of_scales<codec::Nibble, offset::Symmetric>();
}
TEST(Highway, IntegerBits4Zero) {
  expect_generic_bits_of_scales<codec::Nibble, offset::IntegerZero>();
}
TEST(Highway, IntegerBits4Minimum) {
  expect_generic_bits_of_scales<codec::Nibble, offset::FloatMinimum>();
}
TEST(Highway, IntegerBits8Symmetric) {
  expect_generic_bits_of_scales<codec::Byte, offset::Symmetric>();
}
TEST(Highway, IntegerBits8Zero) {
  expect_generic_bits_of_scales<codec::Byte, offset::IntegerZero>();
}
TEST(Highway, IntegerBits8Minimum) {
  expect_generic_bits_of_scales<codec::Byte, offset::FloatMinimum>();
}

/// Codes of 255 and x at its limit, of one sign: instructions that add pairs of products in 16 bits saturate.
/// The second sum is the largest that a block can reach, 256 * 255 * 32512 = 2122383360.
TEST(Highway, LargestProductsDoNotSaturate) {
  using F = Int8Zero<dynamic_group, float>;
  test::Weights<F> weights(16, 256, 256);
  weights.set_codes(255);
  weights.set_scales(1.0f);
  const AnyLinear layer = pack<F, IntegerActivations>(weights, 16, {});
  const AnyLinear int8 = only(layer, "highway"), int16 = only(*layer.with("int16"), "highway");
  const std::vector<float> x(256, -127.0f);
  for_each_target([&] {
    for (const float y : test::run_layer(int8, x.data(), 1)) ASSERT_EQ(y, -256.0f * 255.0f * 127.0f);
    for (const float y : test::run_layer(int16, x.data(), 1)) ASSERT_EQ(y, -2122383360.0f / 256.0f);
  });
}

/// y = fma(fma(127, scale, 0), x_scale, bias), each rounded once. With x = 127 (1 + 2^-12), x_scale is 1 +
/// 2^-12; an inner sum of 1 + 2^-12 then makes a product of 1 + 2^-11 + 2^-24, halfway between two floats, so
/// that the sign of a bias too small for a double decides.
TEST(Highway, MultiplyAddRoundsOnce) {
  using F = Int8<per_channel, float>;
  const float x_scale = 1.0f + 0x1p-12f, x = 127.0f * x_scale;
  const float halfway = x_scale / 127.0f;
  ASSERT_EQ(127.0f * halfway, x_scale);
  std::vector<float> scales, biases;
  for (const float scale : {halfway, -halfway, 0.0f, 0x1p-149f, -0x1p-149f, 3 * 0x1p-149f, 0x1.234568p-133f,
                            0x1.8p-127f, 0x1.fffffep121f, 0x1p120f, HUGE_VALF, std::nanf("")})
    for (const float bias : {0.0f, -0.0f, 0x1p-60f, -0x1p-60f, 0x1p-149f, -0x1p-149f, 0x1p-24f, -0x1p-24f,
                             0x1.000002p-24f, -1.0f, -x_scale * x_scale, x_scale * x_scale, 0x1.fffffep127f,
                             -0x1.fffffep127f, 0x1p-126f, -0x1p-126f, HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      scales.push_back(scale);
      biases.push_back(bias);
    }
  test::Random random(1);
  for (int i = 0; i < 2000; ++i) {  // products and biases of all sizes, many of which nearly cancel
    const float scale = std::ldexp(random.symmetric(), static_cast<int>(random.below(260)) - 149);
    const float product = 127.0f * scale * x_scale;
    scales.push_back(scale);
    biases.push_back(i % 2 == 0
                         ? -std::nextafterf(product, 0.0f)
                         : std::ldexp(random.symmetric() * product, static_cast<int>(random.below(60)) - 50));
  }
  test::Weights<F> weights(scales.size(), 1);
  weights.set_codes(129);
  weights.scales = scales;
  std::vector<float> expected;
  for (std::size_t n = 0; n < scales.size(); ++n)
    expected.push_back(std::fma(std::fma(127.0f, scales[n], 0.0f), x_scale, biases[n]));
  const AnyLinear layer =
      only(pack<F, ActivationList<DynamicInt8>>(weights, scales.size(), biases), "highway");
  for_each_target([&] { test::expect_same(test::run_layer(layer, &x, 1), expected); });
}

/// The documented bound of F32, with the bias as one more term: (K + 4) * 2^-23 * sum |x| |w|.
template <class F>
void expect_float_bound() {
  for (const Depth& depth : {Depth{1, 1}, {7, 3}, {100, 48}, {1000, 600}}) {
    const std::size_t k = depth.k, group = depth.group;
    SCOPED_TRACE("K = " + std::to_string(k) + ", group " + std::to_string(group));
    const test::Weights<F> weights = test::random_weights<F>(130, k, group, k);
    const std::vector<float> bias = test::random_floats(130, k), x = test::random_floats(9 * k, k + 1);
    std::vector<AnyLinear> layers;
    for (const auto& shape : shapes)
      layers.push_back(only(pack<F, ActivationList<F32>>(weights, shape[2], bias), "highway"));
    const std::vector<test::FloatReference> reference = test::float_model<F, F32>(weights, x, 9, bias);
    for_each_target([&] {
      for (std::size_t i = 0; i < std::size(shapes); ++i) {
        const auto [first, m, n] = shapes[i];
        const std::vector<float> y =
            test::run_layer(layers[i], x.data() + first * k, m, test::LastTaskFirst{i % 3 + 1});
        for (std::size_t row = 0; row < m; ++row)
          for (std::size_t column = 0; column < n; ++column) {
            const test::FloatReference& r = reference[(first + row) * 130 + column];
            ASSERT_LE(std::fabs(y[row * n + column] - r.value),
                      static_cast<double>(k + 4) * 0x1p-23 * r.magnitude)
                << layers[i].format() << ", y[" << row << ", " << column << "] of [" << m << ", " << n << "]";
          }
      }
    });
    if (testing::Test::HasFailure()) return;
  }
}

template <class Codec, class Offset>
void expect_float_bound_of_scales() {
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, float>>();
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, Float16>>();
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, BFloat16>>();
}

TEST(Highway, FloatBound4Symmetric) {
  expect_float_bound_of_scales<codec::Nibble, offset::Symmetric>();
}
TEST(Highway, FloatBound4Zero) {
  expect_float_bound_of_scales<codec::Nibble, offset::IntegerZero>();
}
TEST(Highway, FloatBound4Minimum) {
  expect_float_bound_of_scales<codec::Nibble, offset::FloatMinimum>();
}
TEST(Highway, FloatBound8Symmetric) {
  expect_float_bound_of_scales<codec::Byte, offset::Symmetric>();
}
TEST(Highway, FloatBound8Zero) {
  expect_float_bound_of_scales<codec::Byte, offset::IntegerZero>();
}
TEST(Highway, FloatBound8Minimum) {
  expect_float_bound_of_scales<codec::Byte, offset::FloatMinimum>();
}
TEST(Highway, FloatBoundFp8) {
  expect_float_bound<Fp8Block<16, dynamic_group>>();
  expect_float_bound<Fp8Channel<Float8E5M2>>();
}
TEST(Highway, FloatBoundUnquantized) {
  expect_float_bound<F32Weight>();
  expect_float_bound<F16Weight>();
  expect_float_bound<Bf16Weight>();
}

/// Every pattern is multiplied by 1: y is its float, infinities, NaN and subnormals included, and where y has
/// 16 bits it is that float rounded.
template <class F>
void expect_all_values(const test::Weights<F>& weights) {
  std::vector<float> expected;
  for (std::size_t n = 0; n < weights.n; ++n)
    expected.push_back(weights.value(n, 0) + 0.0f);  // a sum that starts at 0 has no -0
  const AnyLinear layer = only(pack<F, ActivationList<F32>>(weights, weights.n, {}), "highway");
  const float one = 1.0f;
  const auto expect_rounded = [&]<class T>(T) {
    const auto y = test::run_layer_as<T>(layer, MatrixView<const float>(&one, 1, 1));
    for (std::size_t n = 0; n < y.size(); ++n) {
      ASSERT_TRUE(test::equal_or_nan(test::value_of(y[n]), test::nearest_value<T>(expected[n])))
          << "pattern " << n;
    }
  };
  for_each_target([&] {
    test::expect_same(test::run_layer(layer, &one, 1), expected);
    expect_rounded(BFloat16{});
    expect_rounded(Float16{});
  });
}

template <class T>
void expect_all_halves() {
  test::Weights<FloatWeight<T>> weights(0x10000, 1);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    weights.values[bits] = T{static_cast<std::uint16_t>(bits)};
  expect_all_values(weights);
}
TEST(Highway, EveryHalfAndBfloat16) {
  expect_all_halves<Float16>();
  expect_all_halves<BFloat16>();
}

template <class Element>
void expect_all_codes() {
  test::Weights<Fp8Channel<Element>> weights(256, 1);
  for (std::size_t n = 0; n < 256; ++n) weights.codes[n] = static_cast<std::uint8_t>(n);
  for (const float scale : {1.0f, 0.3f, -0x1p-130f}) {
    weights.scales.assign(256, scale);
    expect_all_values(weights);
  }
}
TEST(Highway, EveryFloat8) {
  expect_all_codes<Float8E4M3>();
  expect_all_codes<Float8E5M2>();
}

}
