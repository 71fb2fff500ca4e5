// SPDX-License-Identifier: Apache-2.0
// Every TDP instruction, to the bit, against a scalar product of matrices in their natural layout.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "amx/tile_instructions.hpp"
#include "support/host_state.hpp"

namespace {

using namespace tile_test;

struct Shape {
  int m, n, k_bytes;
};
constexpr Shape shapes[] = {{16, 16, 64}, {1, 16, 64}, {16, 1, 64}, {16, 16, 32},
                            {5, 3, 4},    {7, 11, 60}, {1, 1, 4}};

// A [m, k], B [k, n], C [m, n]: row-major, `Element` of one or two bytes.
template <class Element, class Sum>
struct Problem {
  static constexpr int group = 4 / static_cast<int>(sizeof(Element));  // of k, side by side in B

  int m, n, k;
  std::vector<Element> a, b;
  std::vector<Sum> c;

  explicit Problem(Shape shape)
      : m(shape.m),
        n(shape.n),
        k(shape.k_bytes / static_cast<int>(sizeof(Element))),
        a(size(m, k)),
        b(size(k, n)),
        c(size(m, n)) {}

  static std::size_t size(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  Element& a_at(int row, int column) { return a[size(row, k) + static_cast<std::size_t>(column)]; }
  Element& b_at(int row, int column) { return b[size(row, n) + static_cast<std::size_t>(column)]; }
  Sum& c_at(int row, int column) { return c[size(row, n) + static_cast<std::size_t>(column)]; }

  template <Operation operation>
  std::vector<Sum> on_tiles() {
    std::vector<Element> groups;
    for (int first = 0; first < k; first += group)
      for (int column = 0; column < n; ++column)
        for (int i = 0; i < group; ++i) groups.push_back(b_at(first + i, column));
    std::vector<Sum> result = c;
    const int k_bytes = k * static_cast<int>(sizeof(Element));
    ldtilecfg(product_configuration(m, n, k_bytes));
    tileloadd<0>(result.data(), 4 * n);
    tileloadd<1>(a.data(), k_bytes);
    tileloaddt1<2>(groups.data(), 4 * n);
    multiply<operation>();
    tilestored<0>(result.data(), 4 * n);
    return result;
  }
};

template <Operation operation, class Left, class Right>
void expect_product_of_bytes() {
  for (const Shape shape : shapes)
    for (const bool extreme : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << shape.m << " x " << shape.n << " x " << shape.k_bytes << " extreme " << extreme);
      Problem<std::uint8_t, std::uint32_t> problem(shape);
      problem.a = random_values<std::uint8_t>(problem.a.size(), 1);
      problem.b = random_values<std::uint8_t>(problem.b.size(), 2);
      problem.c = random_values<std::uint32_t>(problem.c.size(), 3);  // some sums pass 2^31, some 2^32
      if (extreme) {
        for (auto& value : problem.a) value = value < 128 ? 0x80 : 0xFF;
        for (auto& value : problem.b) value = value < 128 ? 0x80 : 0xFF;
      }
      std::vector<std::uint32_t> expected = problem.c;
      for (int row = 0; row < problem.m; ++row)
        for (int column = 0; column < problem.n; ++column) {
          std::uint32_t& sum = expected[problem.size(row, problem.n) + static_cast<std::size_t>(column)];
          for (int i = 0; i < problem.k; ++i)
            sum += static_cast<std::uint32_t>(static_cast<Left>(problem.a_at(row, i)) *
                                              static_cast<Right>(problem.b_at(i, column)));
        }
      EXPECT_EQ(problem.on_tiles<operation>(), expected);
    }
}

using TileProduct = Tiles;

TEST_F(TileProduct, SignedBySigned) {
  expect_product_of_bytes<Operation::tdpbssd, std::int8_t, std::int8_t>();
}
TEST_F(TileProduct, SignedByUnsigned) {
  expect_product_of_bytes<Operation::tdpbsud, std::int8_t, std::uint8_t>();
}
TEST_F(TileProduct, UnsignedBySigned) {
  expect_product_of_bytes<Operation::tdpbusd, std::uint8_t, std::int8_t>();
}
TEST_F(TileProduct, UnsignedByUnsigned) {
  expect_product_of_bytes<Operation::tdpbuud, std::uint8_t, std::uint8_t>();
}

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Where an exact result lies less than 2^-150 below the least normal, hardware may give zero for what stays
// here; the SDM does not say, and the data below do not come near.
float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
float add(float x, float y) {
  return flush(flush(x) + flush(y));
}
float multiply_add(float x, float y, float sum) {
  return flush(std::fma(flush(x), flush(y), flush(sum)));
}

void expect_product_of_bf16(Problem<std::uint16_t, float> problem) {
  std::vector<float> result = problem.on_tiles<Operation::tdpbf16ps>();
  for (int row = 0; row < problem.m; ++row)
    for (int column = 0; column < problem.n; ++column) {
      float sums[2] = {};
      for (int i = 0; i < problem.k; ++i)
        sums[i % 2] =
            multiply_add(bf16_value(problem.a_at(row, i)), bf16_value(problem.b_at(i, column)), sums[i % 2]);
      float& c = problem.c_at(row, column);
      c = add(c, add(sums[0], sums[1]));
    }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(problem.c[i]) && std::isnan(result[i])) continue;  // the SDM does not say which NaN
    ASSERT_EQ(std::bit_cast<std::uint32_t>(result[i]), std::bit_cast<std::uint32_t>(problem.c[i]))
        << i << ": " << result[i] << " instead of " << problem.c[i];
  }
}

// `mask` of the random bits, then `bias` added to the exponent.
std::vector<std::uint16_t> random_bf16(std::size_t count, std::uint32_t seed, int mask, int bias) {
  std::vector<std::uint16_t> values = random_values<std::uint16_t>(count, seed);
  for (std::uint16_t& value : values) value = static_cast<std::uint16_t>((value & mask) + (bias << 7));
  return values;
}

struct Range {
  const char* name;
  int factor_mask, factor_bias, sum_mask, sum_bias;
};
constexpr Range ranges[] = {
    {"2^-7 to 2^8", 0x87FF, 120, 0x87FF, 120},
    // Products and C around 2^-126: some sums that do not cancel out are subnormal.
    {"subnormal results", 0x81FF, 62, 0x81FF, 1},
    // One factor in eight is subnormal, and counts if it is not taken as zero.
    {"subnormal factors", 0x83FF, 0, 0x80FF, 0},
    {"all bits, Inf and NaN too", 0xFFFF, 0, 0xFFFF, 0},
};

void expect_products_of_bf16() {
  for (const Range& range : ranges)
    for (const Shape shape : shapes) {
      SCOPED_TRACE(testing::Message()
                   << range.name << ", " << shape.m << " x " << shape.n << " x " << shape.k_bytes);
      Problem<std::uint16_t, float> problem(shape);
      problem.a = random_bf16(problem.a.size(), 4, range.factor_mask, range.factor_bias);
      problem.b = random_bf16(problem.b.size(), 5, range.factor_mask, range.factor_bias);
      if (range.factor_bias == 0)  // beside small factors, large ones
        for (std::uint16_t& value : problem.b) value = static_cast<std::uint16_t>(value ^ 0x4000);
      const std::vector<std::uint16_t> sums =
          random_bf16(problem.c.size(), 6, range.sum_mask, range.sum_bias);
      for (std::size_t i = 0; i < sums.size(); ++i) problem.c[i] = bf16_value(sums[i]);
      expect_product_of_bf16(problem);
    }
}

TEST_F(TileProduct, Bf16) {
  expect_products_of_bf16();
}

TEST_F(TileProduct, Bf16NeitherReadsNorWritesMxcsr) {
  Problem<std::uint16_t, float> problem(shapes[0]);
  problem.a = random_bf16(problem.a.size(), 7, 0x87FF, 120);
  problem.b = random_bf16(problem.b.size(), 8, 0x87FF, 120);
  const std::vector<float> expected = problem.on_tiles<Operation::tdpbf16ps>();
  for (const bool flush_subnormals : {false, true}) {
    const test::HostState state(flush_subnormals, true);
    EXPECT_EQ(problem.on_tiles<Operation::tdpbf16ps>(), expected);
    EXPECT_TRUE(state.unchanged());
  }
}

// Without the signal, whose return restores MXCSR.
TEST(TileArithmetic, LeavesMxcsr) {
  using namespace amx_emulator;
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "no FMA";
  Tile c{}, a{}, b{};
  const test::HostState state(false, true);
  add_product(Operation::tdpbf16ps, c, a, b, {16, 64}, {16, 64});
  EXPECT_TRUE(state.unchanged());
}

// The order of the additions, where each other order gives another sum. 2^24 + 1 rounds to 2^24.
TEST_F(TileProduct, Bf16AddsEvenAndOddApartThenC) {
  const std::uint16_t large = 0x4B80, one = 0x3F80, minus_large = 0xCB80;  // 2^24, 1, -2^24
  Problem<std::uint16_t, float> problem({1, 1, 8});
  problem.b = {one, one, one, one};
  problem.a = {large, one, minus_large, one};  // even: 0, odd: 2; in one chain 1
  problem.c = {0.0f};
  EXPECT_EQ(problem.on_tiles<Operation::tdpbf16ps>()[0], 2.0f);
  problem.a = {one, one, one, one};  // C is the last: 2^24 + 4, not 2^24 four times
  problem.c = {0x1p24f};
  EXPECT_EQ(problem.on_tiles<Operation::tdpbf16ps>()[0], 0x1p24f + 4.0f);
}

TEST_F(TileProduct, AddsToOneTileAfterTheOther) {
  ldtilecfg(uniform_configuration());
  const auto a = random_values<std::uint8_t>(1024, 9), b = random_values<std::uint8_t>(1024, 10);
  std::vector<std::int32_t> once(256), thrice(256);
  tileloadd<7>(a.data(), 64);
  tileloadd<3>(b.data(), 64);
  tilezero<5>();
  multiply<Operation::tdpbusd, 5, 7, 3>();
  tilestored<5>(once.data(), 64);
  multiply<Operation::tdpbusd, 5, 7, 3>();
  multiply<Operation::tdpbusd, 5, 7, 3>();
  tilestored<5>(thrice.data(), 64);
  EXPECT_NE(once, std::vector<std::int32_t>(256));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(thrice[i], 3 * once[i]);
}

}
