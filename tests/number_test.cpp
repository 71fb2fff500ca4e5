// SPDX-License-Identifier: Apache-2.0
// bfloat16 and binary16: every code to float and back, and every tie between two neighbours.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "edgeq/number/stored_float.hpp"
#include "support/host_state.hpp"
#include "support/test_weights.hpp"

namespace {

using edgeq::BFloat16;
using edgeq::Float16;

constexpr float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
constexpr std::uint16_t bf16(std::uint32_t bits) {
  return BFloat16::from_float(from_bits(bits)).bits;
}
constexpr std::uint16_t f16(float value) {
  return Float16::from_float(value).bits;
}

static_assert(BFloat16{0x3F80}.to_float() == 1.0f && bf16(0x3F800000) == 0x3F80,
              "usable in constant expressions");
static_assert(Float16{0x3C00}.to_float() == 1.0f && f16(1.0f) == 0x3C00, "usable in constant expressions");

template <class T>
class StoredNumber : public testing::Test {
 protected:
  // The bits of +Inf: codes below it are the finite ones.
  static constexpr unsigned infinity = std::is_same_v<T, Float16> ? 0x7C00 : 0x7F80;
};
using Numbers = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(StoredNumber, Numbers, );

TYPED_TEST(StoredNumber, EveryCodeHasItsValueAndComesBack) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const TypeParam code{static_cast<std::uint16_t>(bits)};
    const float value = code.to_float();
    if ((bits & 0x7FFF) > this->infinity) {
      EXPECT_TRUE(std::isnan(value)) << std::hex << bits;
      EXPECT_TRUE(std::isnan(TypeParam::from_float(value).to_float())) << std::hex << bits;
    } else {
      EXPECT_EQ(static_cast<double>(value), test::value_of(code)) << std::hex << bits;
      EXPECT_EQ(std::signbit(value), bits >= 0x8000) << std::hex << bits;
      EXPECT_EQ(TypeParam::from_float(value).bits, bits);
    }
  }
}

// Halfway between neighbours the even code wins; one float to either side the nearer one does. The successor
// of the largest finite value is Inf, with the value that the next exponent would have.
template <class T>
void expect_ties_to_even(unsigned infinity) {
  for (unsigned bits = 0; bits < infinity; ++bits) {
    const double below = test::value_of(T{static_cast<std::uint16_t>(bits)});
    const double above = bits + 1 == infinity ? 2 * test::value_of(T{static_cast<std::uint16_t>(bits)}) -
                                                    test::value_of(T{static_cast<std::uint16_t>(bits - 1)})
                                              : test::value_of(T{static_cast<std::uint16_t>(bits + 1)});
    const float middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2) << "not a float";
    for (const float sign : {1.0f, -1.0f}) {
      const unsigned offset = sign < 0 ? 0x8000 : 0;
      EXPECT_EQ(T::from_float(sign * middle).bits, offset + bits + bits % 2) << std::hex << bits;
      EXPECT_EQ(T::from_float(sign * std::nextafter(middle, 0.0f)).bits, offset + bits) << std::hex << bits;
      EXPECT_EQ(T::from_float(sign * std::nextafter(middle, HUGE_VALF)).bits, offset + bits + 1)
          << std::hex << bits;
    }
  }
}
TYPED_TEST(StoredNumber, TiesRoundToEven) {
  expect_ties_to_even<TypeParam>(this->infinity);
}

// The conversions are integer arithmetic: no setting of the program reaches them.
TYPED_TEST(StoredNumber, IgnoresHostState) {
  std::vector<float> values;
  std::vector<std::uint16_t> codes;
  {
    const test::HostState state(true, true);
    for (unsigned bits = 0; bits < this->infinity; ++bits) {
      values.push_back(TypeParam{static_cast<std::uint16_t>(bits)}.to_float());
      codes.push_back(TypeParam::from_float(values.back()).bits);
    }
  }
  for (unsigned bits = 0; bits < this->infinity; ++bits) {
    EXPECT_EQ(static_cast<double>(values[bits]), test::value_of(TypeParam{static_cast<std::uint16_t>(bits)}));
    EXPECT_EQ(codes[bits], bits);
  }
}

TEST(BFloat16Number, KnownRoundings) {
  const std::uint32_t cases[][2] = {{0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81},
                                    {0x7F7FFFFF, 0x7F80}, {0xFF800000, 0xFF80}, {0x00000001, 0x0000},
                                    {0x00400000, 0x0040}, {0x007FFFFF, 0x0080}, {0x80000001, 0x8000}};
  for (const auto& [from, to] : cases) EXPECT_EQ(bf16(from), to) << std::hex << from;
  for (const std::uint32_t nan :
       {0x7F800001u, 0x7FFF8C22u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu, 0x7FC00000u}) {
    EXPECT_GT(bf16(nan) & 0x7FFF, 0x7F80) << std::hex << nan;
    EXPECT_EQ(bf16(nan) >> 15, nan >> 31) << std::hex << nan;
  }
}

TEST(Float16Number, KnownRoundings) {
  EXPECT_EQ(f16(3e-5f), 0x01F7);
  EXPECT_EQ(f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f16(65520.0f), 0x7C00);
  EXPECT_EQ(f16(-3e38f), 0xFC00);
  EXPECT_EQ(f16(HUGE_VALF), 0x7C00);
  EXPECT_EQ(f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f16(-0x1p-25f), 0x8000);
  EXPECT_EQ(f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f16(0x1p-149f), 0x0000);
  for (const std::uint32_t nan : {0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0x7FC00000u})
    EXPECT_GT(f16(from_bits(nan)) & 0x7FFF, 0x7C00) << std::hex << nan;
}

}
