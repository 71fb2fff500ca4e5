// SPDX-License-Identifier: Apache-2.0
// One linear, written in every layout that can hold it, is one linear: the same format, rows and y, bit for
// bit.
#include <gtest/gtest.h>

#include "edgeq/linear.hpp"
#include "import/integer_linear.hpp"

namespace {

using namespace edgeq;
using test::Decoded;
using test::expect_decoded;
using test::for_each_layout;
using test::IntegerLinear;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(SameLinear, RowsAreEqualBitForBit) {
  for (int bits = 1; bits <= 8; ++bits)
    for (const bool symmetric : {false, true}) {
      const auto w = IntegerLinear::random(64, 96, 32, bits, symmetric);
      int layouts = 0;
      for_each_layout(w, [&](const char* layout, const auto& visit) {
        SCOPED_TRACE(std::string(layout) + ", " + std::to_string(bits) + " bits");
        const Decoded decoded = expect_decoded(visit(test::decode));
        EXPECT_EQ(decoded.format,
                  std::string(bits <= 4 ? "int4 " : "int8 ") + (symmetric ? "sym" : "zero") + " g* f16");
        EXPECT_EQ(decoded.group, 32u);
        EXPECT_TRUE(same_bits(decoded.values, w.values()));
        ++layouts;
      });
      EXPECT_EQ(layouts, bits == 1 ? 2 : bits == 4 ? 7 : bits == 2 || bits == 3 || bits == 8 ? 5 : 3);
    }
}

TEST(SameLinear, RowsInActOrderAreEqualBitForBit) {
  for (const int bits : {3, 4, 8}) {
    auto w = IntegerLinear::random(64, 96, 32, bits, false);
    std::mt19937 engine(7);
    for (std::size_t k = 0; k < w.k; ++k) w.group_of.push_back(static_cast<std::int32_t>(engine() % 3));
    for_each_layout(w, [&](const char* layout, const auto& visit) {
      SCOPED_TRACE(layout);
      const Decoded decoded = expect_decoded(visit(test::decode));
      EXPECT_GE(decoded.order.size(), w.k);
      EXPECT_TRUE(same_bits(decoded.values, w.values()));
    });
  }
}

/// y of 3 rows of x by the layer that packs a source as `As`, or as the source's own format where that is
/// void. The kernels' equality is tested elsewhere, so the fallback will do.
template <class Activation, class As = void>
struct Multiply {
  std::vector<float> x;

  // Only for the two formats that occur here: each costs the compiler time.
  template <class Source>
  Result<std::vector<float>> operator()(const Source& source) const {
    using Own = typename Source::Format;
    using Format = std::conditional_t<std::is_void_v<As>, Own, As>;
    if constexpr (std::is_same_v<Own, Int4<dynamic_group, Float16>> ||
                  std::is_same_v<Own, Int4Zero<dynamic_group, Float16>>) {
      if constexpr (std::is_same_v<typename Format::Offset, typename Own::Offset>) {
        const std::size_t m = 3, n = source.shape().n, k = source.shape().k;
        auto layer = Linear<Format, Activation, IsaList<isa::generic>>::pack_from(source);
        if (!layer) return layer.error();
        Prepared prepared;
        std::vector<float> y(m * n);
        if (Status s = layer->prepare(prepared, MatrixView<const float>(x.data(), m, k)); !s)
          return s.error();
        layer->run(prepared, MatrixView<float>(y.data(), m, n));
        return y;
      }
    }
    return Error{ErrorCode::unsupported, Own::name()};
  }
};

template <class Activation>
void expect_equal_products(const IntegerLinear& w) {
  std::mt19937 engine(11);
  std::vector<float> x(3 * w.k);
  for (float& value : x) value = static_cast<float>(engine() % 2001) / 1000.0f - 1.0f;
  std::vector<float> first;
  for_each_layout(w, [&](const char* layout, const auto& visit) {
    SCOPED_TRACE(layout);
    const auto y = visit(Multiply<Activation>{x});
    ASSERT_TRUE(y) << y.error().message;
    if (first.empty()) first = *y;
    EXPECT_TRUE(same_bits(*y, first));
    const auto fixed = w.symmetric ? visit(Multiply<Activation, Int4<32, Float16>>{x})
                                   : visit(Multiply<Activation, Int4Zero<32, Float16>>{x});
    ASSERT_TRUE(fixed) << fixed.error().message;
    EXPECT_TRUE(same_bits(*fixed, first)) << "packed as a format of a fixed group";
  });
  // And it is the right product, as near as the activation's rounding lets it: half a step of the codes of x,
  // at most 1 / 127 for |x| <= 1, for each weight.
  ASSERT_EQ(first.size(), 3 * w.n);
  for (std::size_t m = 0; m < 3; ++m)
    for (std::size_t n = 0; n < w.n; ++n) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < w.k; ++k) {
        sum += double{x[m * w.k + k]} * double{w.value(n, k)};
        magnitude += std::abs(double{w.value(n, k)});
      }
      EXPECT_NEAR(double{first[m * w.n + n]}, sum, magnitude * 0.51 / 127);
    }
}

template <class Activation>
void expect_equal_products() {
  for (const bool symmetric : {false, true}) {
    auto w = IntegerLinear::random(40, 96, 32, 4, symmetric);
    expect_equal_products<Activation>(w);
    std::mt19937 engine(13);
    for (std::size_t k = 0; k < w.k; ++k) w.group_of.push_back(static_cast<std::int32_t>(engine() % 3));
    SCOPED_TRACE("act-order");
    expect_equal_products<Activation>(w);
  }
}

TEST(SameLinear, ProductsOf16BitActivationsAreEqualBitForBit) {
  expect_equal_products<DynamicInt16>();
}

TEST(SameLinear, ProductsOf8BitActivationsAreEqualBitForBit) {
  expect_equal_products<DynamicInt8>();
}

}
