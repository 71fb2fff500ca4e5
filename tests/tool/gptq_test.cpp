// SPDX-License-Identifier: Apache-2.0
// GPTQ: without correlations it is round-to-nearest, with them it loses less of the output, whatever the
// order, group and number of threads.
#include "edgeq/gptq.hpp"

#include <gtest/gtest.h>

#include "edgeq/format/formats.hpp"
#include "edgeq/quantize/round_to_nearest.hpp"
#include "support/run_layer.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;
using quantize::Search;

constexpr std::size_t n = 40, k = 300, rows = 500;

/// Rows of x whose elements are sums of a few common ones: strongly correlated, of very different size.
std::vector<float> correlated_rows() {
  const auto common = test::random_floats(rows * 12, 1), mix = test::random_floats(12 * k, 2),
             noise = test::random_floats(rows * k, 3);
  std::vector<float> x(rows * k);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t c = 0; c < 12; ++c) x[m * k + i] += common[m * 12 + c] * mix[c * k + i];
      x[m * k + i] = (x[m * k + i] + 0.1f * noise[m * k + i]) * (i % 50 == 7 ? 10.0f : 1.0f);
    }
  return x;
}

tool::Hessian hessian_of(const std::vector<float>& x) {
  tool::Hessian hessian(k);
  hessian.add({x.data(), 200, k});
  hessian.add({x.data() + 200 * k, rows - 200, k});
  return hessian;
}

/// The sum of squares of x (W - Q)ᵀ; value(n, k) is Q.
template <class Value>
double output_error(const std::vector<float>& x, const std::vector<float>& w, const Value& value) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> difference(k);
    for (std::size_t j = 0; j < k; ++j) difference[j] = double{w[i * k + j]} - double{value(i, j)};
    for (std::size_t m = 0; m < rows; ++m) {
      double y = 0.0;
      for (std::size_t j = 0; j < k; ++j) y += double{x[m * k + j]} * difference[j];
      sum += y * y;
    }
  }
  return sum;
}

template <class F>
double error_of(const tool::GptqWeights<F>& q, const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<float> values(n * k);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < k; ++p)
      values[i * k + (q.order.empty() ? p : q.order[p])] = F::decode(q.positions.view(), i, p);
  return output_error(x, w, [&](std::size_t i, std::size_t j) { return values[i * k + j]; });
}

template <class F>
class Gptq : public testing::Test {};
using Formats = testing::Types<Int4<32, Float16>, Int4Zero<128, Float16>, Int4<per_channel, float>,
                               Int4Zero<dynamic_group, Float16>, Int8<64, Float16>>;
TYPED_TEST_SUITE(Gptq, Formats, );

TYPED_TEST(Gptq, LosesLessThanRoundToNearest) {
  using F = TypeParam;
  const auto x = correlated_rows(), w = test::random_floats(n * k, 4);
  const tool::Hessian hessian = hessian_of(x);
  const auto rtn = quantize::round_to_nearest<F>({w.data(), n, k}, Search::extremes, 200);
  const double plain =
      output_error(x, w, [&](std::size_t i, std::size_t j) { return F::decode(rtn.view(), i, j); });
  struct Order {
    bool act_order, static_groups;
  };
  for (const Order order : {Order{false, false}, {true, false}, {true, true}})
    for (const Search search : {Search::extremes, Search::squared_error}) {
      const auto q =
          tool::gptq<F>({w.data(), n, k}, hessian, {0.01, order.act_order, search, order.static_groups}, 200,
                        InlineExecutor{});
      ASSERT_TRUE(q) << q.error().message;
      EXPECT_EQ(q->order.empty(), !order.act_order || order.static_groups);
      // Twelve directions hold nearly all of x in 300 columns: nearly all of the error can be moved out of
      // them.
      EXPECT_LT(error_of(*q, x, w), 0.5 * plain) << order.act_order << order.static_groups;
    }
}

TYPED_TEST(Gptq, DoesNotDependOnTheExecutor) {
  using F = TypeParam;
  const auto x = correlated_rows(), w = test::random_floats(n * k, 5);
  const tool::Hessian hessian = hessian_of(x);
  const auto one = tool::gptq<F>({w.data(), n, k}, hessian, {0.01, true}, 200, InlineExecutor{});
  const auto three = tool::gptq<F>({w.data(), n, k}, hessian, {0.01, true}, 200, test::LastTaskFirst{3});
  EXPECT_EQ(one->positions.codes, three->positions.codes);
}

// Nothing can be made up for by columns that nothing is correlated with.
TEST(Gptq, IsRoundToNearestWithoutCorrelations) {
  using F = Int4<32, Float16>;
  std::vector<float> x(k * k);
  for (std::size_t i = 0; i < k; ++i) x[i * k + i] = i % 7 == 0 ? 0.0f : 1.0f + static_cast<float>(i % 5);
  tool::Hessian hessian(k);
  hessian.add({x.data(), k, k});
  const auto w = test::random_floats(n * k, 6);
  const auto q = tool::gptq<F>({w.data(), n, k}, hessian, {}, 0, InlineExecutor{});
  const auto rtn = quantize::round_to_nearest<F>({w.data(), n, k}, Search::extremes);
  EXPECT_EQ(q->positions.codes, rtn.codes);
}

TEST(Gptq, OrdersByTheDiagonal) {
  const auto x = correlated_rows(), w = test::random_floats(n * k, 7);
  const tool::Hessian hessian = hessian_of(x);
  const auto q = tool::gptq<Int4<32>>({w.data(), n, k}, hessian, {0.01, true}, 0, InlineExecutor{});
  for (std::size_t i = 1; i < k; ++i) {
    const auto before = static_cast<Eigen::Index>(q->order[i - 1]),
               after = static_cast<Eigen::Index>(q->order[i]);
    EXPECT_GE(hessian.sum()(before, before), hessian.sum()(after, after));
  }
  EXPECT_TRUE(validate_order(k, q->order));
}

// The scales are those of round-to-nearest, as no error is known when they are fitted.
TEST(Gptq, FitsStaticGroupsToTheWeights) {
  const auto x = correlated_rows(), w = test::random_floats(n * k, 7);
  const auto q = tool::gptq<Int4<32, Float16>>({w.data(), n, k}, hessian_of(x),
                                               {0.01, true, Search::extremes, true}, 0, InlineExecutor{});
  const auto rtn = quantize::round_to_nearest<Int4<32, Float16>>({w.data(), n, k}, Search::extremes);
  const auto bits = [](const auto& scales) {
    std::vector<std::uint16_t> result;
    for (const Float16 scale : scales) result.push_back(scale.bits);
    return result;
  };
  EXPECT_EQ(bits(q->positions.scales), bits(rtn.scales));
  EXPECT_NE(q->positions.codes, rtn.codes);
}

TEST(Gptq, RefusesInputsThatDoNotFit) {
  const auto w = test::random_floats(n * k, 8);
  const auto message = [&](const tool::Hessian& hessian) {
    const auto q = tool::gptq<Int4<32>>({w.data(), n, k}, hessian, {}, 0, InlineExecutor{});
    return q ? "accepted" : q.error().message;
  };
  EXPECT_NE(message(tool::Hessian(k + 1)).find("301 columns, the weights 300"), std::string::npos);
  std::vector<float> x(k, 1.0f);
  x[5] = std::nanf("");
  tool::Hessian hessian(k);
  hessian.add({x.data(), 1, k});
  EXPECT_NE(message(hessian).find("not finite"), std::string::npos);
  EXPECT_EQ(message(tool::Hessian(k)), "accepted") << "inputs that are all 0 leave round-to-nearest";
}

}
