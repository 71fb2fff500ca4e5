// SPDX-License-Identifier: Apache-2.0
// Rows of zeros, of huge and tiny numbers, and with one massive outlier: what y must still be.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;

template <class F, class... Activations>
void for_each_kernel_and_activation(const typename F::View& view, const std::vector<float>& bias,
                                    const auto& body) {
  const AnyLinear layer = test::pack<F, Activations...>(view, bias);
  for (const char* activation : {Activations::name...}) for_each_kernel(*layer.with(activation), body);
}

TEST(ZeroRow, GivesExactlyTheBias) {
  using F = Int4Zero<32, BFloat16>;
  constexpr std::size_t m = 4, n = 21, k = 70;
  const auto weights = test::random_weights<F>(n, k, 0, 7);
  auto x = test::random_floats(m * k, 8);
  for (std::size_t i = 0; i < k; ++i) {
    x[k + i] = 0.0f;
    x[2 * k + i] = -0.0f;
  }
  std::vector<float> bias(n);
  for (std::size_t i = 0; i < n; ++i) bias[i] = static_cast<float>(i + 1);
  for_each_kernel_and_activation<F, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, DynamicInt16PerGroup,
                                 DynamicInt8Zero, F32, Bf16>(
      weights.view(), bias, [&](const AnyLinear& kernel, const char*) {
        const auto y = run_layer(kernel, x.data(), m);
        for (std::size_t i = n; i < 3 * n; ++i) EXPECT_EQ(y[i], bias[i % n]) << "row " << i / n;
        for (std::size_t i = 0; i < n; ++i) EXPECT_NE(y[i], bias[i]) << "row 0 is not zero";
      });
}

// Rows whose largest element is near the ends of the range of float, for weights that keep y well inside.
class Range : public testing::Test {
 protected:
  using F = Int4<32, float>;
  static constexpr std::size_t m = 7, n = 3, k = 5;
  static constexpr float largest = 3.40282347e38f;
  Range() : weights(test::random_weights<F>(n, k, 0, 9)) { weights.set_scales(0x1p-8f); }

  test::Weights<F> weights;
  const std::vector<float> x = {1e38f,
                                -1e38f,
                                1,
                                0,
                                0,  //
                                1e-45f,
                                0,
                                0,
                                0,
                                0,  //
                                0,
                                0,
                                0,
                                0,
                                -1e-45f,  //
                                largest,
                                largest,
                                -largest,
                                largest,
                                -largest,  //
                                0x1p-100f,
                                0x1p-101f,
                                0,
                                0,
                                0,  //
                                0x1.fffffep-101f,
                                0x1p-126f,
                                0,
                                0,
                                0,  //
                                1e-38f,
                                1e-39f,
                                -1e-40f,
                                0,
                                0};
};
TEST_F(Range, IntegerActivations) {
  const AnyLinear layer =
      test::pack<F, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, DynamicInt8Zero>(weights.view());
  const auto compare = [&](const char* activation, const std::vector<float>& expected) {
    for_each_kernel(*layer.with(activation), [&](const AnyLinear& kernel, const char*) {
      test::expect_same(run_layer(kernel, x.data(), m), expected);
    });
    for (const float y : expected) EXPECT_TRUE(std::isfinite(y));
  };
  compare("int8", test::integer_model<F, DynamicInt8>(weights, x, m, {}));
  compare("int8/group", test::integer_model<F, DynamicInt8PerGroup>(weights, x, m, {}));
  compare("int16", test::integer_model<F, DynamicInt16>(weights, x, m, {}));
  compare("int8/zero", test::integer_model<F, DynamicInt8Zero>(weights, x, m, {}));
}
TEST_F(Range, FloatActivations) {
  const auto exact = test::float_model<F, F32>(weights, x, m, {});
  for_each_kernel(test::pack<F, F32>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), m);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double underflow = (k + 1) * 0x1p-150;  // half of the smallest subnormal for each rounding
      EXPECT_LE(std::fabs(y[i] - exact[i].value), test::float_bound(k) * exact[i].magnitude + underflow)
          << "row " << i / n << ", column " << i % n << ": " << y[i] << " for " << exact[i].value;
    }
  });
}

// One massive activation: what each activation precision promises of the 127 small ones beside it.
TEST(Outlier, CostsWhatTheActivationSays) {
  using F = Int4<32, BFloat16>;
  constexpr std::size_t k = 128;
  test::Weights<F> weights(1, k);
  weights.set_codes(9);
  weights.set_code(0, 0, 8);
  weights.set_scales(1.0f);
  std::vector<float> x(k, 0.01f);
  x[0] = 1000.0f;
  const double exact = 127 * static_cast<double>(0.01f);
  // Half a quantization step for each of the 127 weights of 1; the sums are small integers, so two roundings
  // and that of the scale are all that remains: 3 * 2^-24 of 127 steps.
  const auto bound = [](double step) { return 127 * step / 2 + 3 * 0x1p-24 * 127 * step; };
  const struct {
    const char* activation;
    double bound;
  } cases[] = {{"int8", bound(1000.0 / 127)},
               {"int16", bound(1000.0 / 32512)},
               // 31 elements share the outlier's group, 96 have the step of their own
               {"int8/group", bound(1000.0 / 127) * 31 / 127 + bound(0.01 / 127)},
               {"int16/group", bound(1000.0 / 32512) * 31 / 127 + bound(0.01 / 32512)},
               {"int8/zero", bound(1000.0 / 255)},
               {"f32", test::float_bound(k) * exact}};
  const AnyLinear layer = test::pack<F, DynamicInt8, DynamicInt16, DynamicInt8PerGroup, DynamicInt16PerGroup,
                                     DynamicInt8Zero, F32>(weights.view());
  for (const auto& c : cases)
    for_each_kernel(*layer.with(c.activation), [&](const AnyLinear& kernel, const char*) {
      EXPECT_NEAR(run_layer(kernel, x.data(), 1)[0], exact, c.bound);
    });
}

}
