// SPDX-License-Identifier: Apache-2.0
// Weights whose columns are packed in an order of their own: y equals that of the same positions multiplied
// by an x put in that order beforehand, to the bit, and every order that is none is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "edgeq/format/ordered_source.hpp"
#include "edgeq/format/stacked_source.hpp"
#include "support/run_layer.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;

/// A shuffle of k columns, with `holes` positions between them that have none.
std::vector<std::uint32_t> random_order(std::size_t k, std::size_t holes, std::uint64_t seed) {
  std::vector<std::uint32_t> order(k + holes, no_column);
  std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), 0u);
  test::Random random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

template <StoredFloat T>
std::vector<T> in_order(const std::vector<T>& x, std::size_t k, const std::vector<std::uint32_t>& order) {
  std::vector<T> result;
  for (std::size_t m = 0; m < x.size() / k; ++m)
    for (const std::uint32_t column : order) result.push_back(column == no_column ? T{} : x[m * k + column]);
  return result;
}

template <class F, class... Activations>
void expect_order_is_free(std::size_t k, std::size_t holes) {
  SCOPED_TRACE(F::name() + ", K = " + std::to_string(k) + ", " + std::to_string(holes) + " holes");
  constexpr std::size_t n = 37, m = 9;
  const test::Weights<F> weights = test::random_weights<F>(n, k + holes, 0, k);
  const auto x = test::random_floats(m * k, k + 1), bias = test::random_floats(n, k + 2);
  const OrderedSource<typename F::View> source{weights.view(), k, random_order(k, holes, k + 3)};
  const std::vector<float> ordered_x = in_order(x, k, source.order);
  const auto layer =
      AnyLinear::pack<F, ActivationList<Activations...>>(source, Bias(std::span<const float>(bias)));
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->k(), k);
  const AnyLinear natural = test::pack<F, Activations...>(weights.view(), bias);

  for (const char* activation : {Activations::name...})
    test::for_each_kernel(*layer->with(activation), [&](const AnyLinear& kernel, const char* isa) {
      const AnyLinear other = *natural.with(activation)->only(isa);
      for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, m})
        test::expect_same(test::run_layer(kernel, x.data(), rows, test::LastTaskFirst{3}),
                          test::run_layer(other, ordered_x.data(), rows));
    });

  std::vector<float> row(k), positions(k + holes);
  for (std::size_t i = 0; i < n; ++i) {
    layer->dequantize_row(i, row.data());
    natural.dequantize_row(i, positions.data());
    for (std::size_t p = 0; p < k + holes; ++p)
      if (source.order[p] != no_column) {
        ASSERT_EQ(row[source.order[p]], positions[p]);
      }
  }
}

TEST(Order, ChangesNoBitOfIntegerActivations) {
  expect_order_is_free<Int4Zero<32, Float16>, DynamicInt8, DynamicInt16PerGroup>(100, 0);
  expect_order_is_free<Int4<24>, DynamicInt16>(61, 19);
  expect_order_is_free<Int4<24>, DynamicInt16>(1, 23);
}
TEST(Order, ChangesNoBitOfFloatActivations) {
  expect_order_is_free<Int4<32>, F32, Bf16>(100, 5);
}

// The sum of a column is over the columns of W, whatever stands at a position that has none.
TEST(Order, PositionsWithoutAColumnAddNothingToSums) {
  using F = Int4<8, float>;
  test::Weights<F> weights(3, 16);
  weights.set_scales(1.0f);
  weights.set_codes(15);
  OrderedSource<F::View> source{weights.view(), 10, random_order(10, 6, 1)};
  const auto layer = AnyLinear::pack<F, ActivationList<DynamicInt8Zero>>(source);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->weight().column_sums()[2], 70.0f);
}

TEST(Order, OfHalfPrecisionRowsWithAStride) {
  using F = Int4<32>;
  const auto weights = test::random_weights<F>(20, 64, 0, 1);
  const OrderedSource<F::View> source{weights.view(), 64, random_order(64, 0, 2)};
  const auto layer = AnyLinear::pack<F, ActivationList<DynamicInt16>>(source);
  ASSERT_TRUE(layer);
  std::vector<BFloat16> x;
  for (const float value : test::random_floats(3 * 70, 3)) x.push_back(BFloat16::from_float(value));
  std::vector<BFloat16> dense;
  for (std::size_t m = 0; m < 3; ++m)
    dense.insert(dense.end(), x.begin() + static_cast<std::ptrdiff_t>(70 * m),
                 x.begin() + static_cast<std::ptrdiff_t>(70 * m + 64));
  const auto ordered = in_order(dense, 64, source.order);
  test::expect_same(test::run_layer_as<float>(*layer, MatrixView<const BFloat16>(x.data(), 3, 64, 70)),
                    test::run_layer_as<float>(test::pack<F, DynamicInt16>(weights.view()),
                                              MatrixView<const BFloat16>(ordered.data(), 3, 64)));
}

TEST(Order, SharesActivationsOnlyWithTheSame) {
  using F = Int4<32>;
  const auto weights = test::random_weights<F>(16, 64, 0, 1);
  OrderedSource<F::View> source{weights.view(), 64, random_order(64, 0, 2)}, other = source;
  std::swap(other.order[0], other.order[63]);
  const auto pack = [](const auto& s) { return *AnyLinear::pack<F, ActivationList<DynamicInt8>>(s); };
  EXPECT_TRUE(pack(source).shares_activations_with(pack(source)));
  EXPECT_FALSE(pack(source).shares_activations_with(pack(other)));
  EXPECT_FALSE(pack(source).shares_activations_with(pack(weights.view())));
  const auto stacked = StackedSource<OrderedSource<F::View>>{{source, other}}.validate();
  ASSERT_FALSE(stacked);
  EXPECT_NE(stacked.error().message.find("order"), std::string::npos);
  EXPECT_TRUE((StackedSource<OrderedSource<F::View>>{{source, source}}.validate()));
}

TEST(Order, IsRefusedUnlessEveryColumnStandsOnce) {
  using F = Int4<8>;
  const auto weights = test::random_weights<F>(1, 8, 0, 1);
  const auto message = [&](std::size_t k, std::vector<std::uint32_t> order) {
    const auto layer =
        AnyLinear::pack<F, ActivationList<DynamicInt8>>(OrderedSource<F::View>{weights.view(), k, order});
    return layer ? "accepted" : layer.error().message;
  };
  EXPECT_EQ(message(8, {7, 6, 5, 4, 3, 2, 1, 0}), "accepted");
  EXPECT_NE(message(8, {0, 1, 2, 3, 4, 5, 6, 8}).find("names column 8"), std::string::npos);
  EXPECT_NE(message(8, {0, 1, 2, 3, 4, 5, 6, 6}).find("column 6 twice"), std::string::npos);
  EXPECT_NE(message(8, {0, 1, 2, 3, 4, 5, 6, no_column}).find("only 7 of them"), std::string::npos);
  EXPECT_NE(message(8, {0, 1, 2, 3}).find("4 positions for weights of 8"), std::string::npos);
  EXPECT_NE(message(9, {0, 1, 2, 3, 4, 5, 6, 7}).find("only 8 positions"), std::string::npos);
  EXPECT_EQ(message(7, {0, 1, 2, 3, 4, 5, 6, no_column}), "accepted");
}

}
