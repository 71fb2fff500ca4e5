// SPDX-License-Identifier: Apache-2.0
// The 8-bit floats of OFP8: every code to float and back, every tie between two neighbours, saturation.
#include <gtest/gtest.h>

#include <bit>

#include "edgeq/number/float8.hpp"
#include "support/host_state.hpp"
#include "support/test_weights.hpp"

namespace {

using edgeq::Float8E4M3;
using edgeq::Float8E5M2;

static_assert(Float8E4M3{0x38}.to_float() == 1.0f && Float8E4M3::from_float(1.0f).bits == 0x38,
              "usable in constant expressions");
static_assert(Float8E5M2{0x3C}.to_float() == 1.0f && Float8E5M2::from_float(1.0f).bits == 0x3C,
              "usable in constant expressions");
static_assert(Float8E4M3{0x01}.to_float() == 0x1p-9f && Float8E5M2{0x01}.to_float() == 0x1p-16f,
              "subnormals too");

template <class T>
T code(unsigned bits) {
  return T{static_cast<std::uint8_t>(bits)};
}
template <class T>
unsigned from(float value) {
  return T::from_float(value).bits;
}
float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

template <class T>
class Float8Number : public testing::Test {
 protected:
  static constexpr bool has_infinities = std::is_same_v<T, Float8E5M2>;
  // The code of the largest finite number.
  static constexpr unsigned largest = has_infinities ? 0x7B : 0x7E;
};
using Numbers = testing::Types<Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Float8Number, Numbers, );

TYPED_TEST(Float8Number, EveryCodeHasItsValueAndComesBack) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    SCOPED_TRACE(bits);
    const float value = code<TypeParam>(bits).to_float();
    const double expected = test::value_of(code<TypeParam>(bits));
    EXPECT_EQ(std::isnan(value), std::isnan(expected));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(code<TypeParam>(from<TypeParam>(value)).to_float()));
    } else {
      EXPECT_EQ(static_cast<double>(value), expected);
      EXPECT_EQ(std::signbit(value), bits >= 0x80);
      EXPECT_EQ(from<TypeParam>(value), bits);
    }
  }
}

// Halfway between neighbours the even code wins; one float to either side the nearer one does.
TYPED_TEST(Float8Number, TiesRoundToEven) {
  for (unsigned bits = 0; bits < this->largest; ++bits) {
    SCOPED_TRACE(bits);
    const float middle =
        (code<TypeParam>(bits).to_float() + code<TypeParam>(bits + 1).to_float()) / 2;  // exact: 5 bits
    for (const unsigned sign : {0u, 0x80u}) {
      const float signed_middle = sign != 0 ? -middle : middle, far = sign != 0 ? -HUGE_VALF : HUGE_VALF;
      EXPECT_EQ(from<TypeParam>(signed_middle), sign + bits + bits % 2);
      EXPECT_EQ(from<TypeParam>(std::nextafter(signed_middle, 0.0f)), sign + bits);
      EXPECT_EQ(from<TypeParam>(std::nextafter(signed_middle, far)), sign + bits + 1);
    }
  }
}

// Beyond the largest number there is nothing to round to: 448 and 57344, not infinity and not NaN.
TYPED_TEST(Float8Number, SaturatesToTheLargest) {
  const float largest = this->has_infinities ? 57344.0f : 448.0f;
  EXPECT_EQ(code<TypeParam>(this->largest).to_float(), largest);
  for (const float value : {largest, std::nextafter(largest, HUGE_VALF), largest * 1.0625f, largest * 1.125f,
                            2 * largest, 1e20f, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(from<TypeParam>(value), this->largest) << value;
    EXPECT_EQ(from<TypeParam>(-value), 0x80 + this->largest) << value;
  }
  for (unsigned bits = 0x80; bits-- > 0;)
    EXPECT_FALSE(code<TypeParam>(bits).to_float() > largest &&
                 std::isfinite(code<TypeParam>(bits).to_float()));
}

// Infinities stay where there are some and saturate elsewhere; NaN stays NaN, with its sign.
TYPED_TEST(Float8Number, KeepsWhatIsNotFinite) {
  EXPECT_EQ(from<TypeParam>(HUGE_VALF), this->has_infinities ? 0x7Cu : 0x7Eu);
  EXPECT_EQ(from<TypeParam>(-HUGE_VALF), this->has_infinities ? 0xFCu : 0xFEu);
  for (const std::uint32_t nan : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    const unsigned bits = from<TypeParam>(from_bits(nan));
    EXPECT_TRUE(std::isnan(test::value_of(code<TypeParam>(bits)))) << std::hex << nan;
    EXPECT_EQ(bits >> 7, nan >> 31) << std::hex << nan;
  }
}

// The conversions are integer arithmetic, or exact on normal numbers: no setting of the program reaches them.
TYPED_TEST(Float8Number, IgnoresHostState) {
  std::vector<float> values;
  std::vector<unsigned> codes, above;
  {
    const test::HostState state(true, true);
    for (unsigned bits = 0; bits <= this->largest; ++bits) {
      values.push_back(code<TypeParam>(bits).to_float());
      codes.push_back(from<TypeParam>(values.back()));
      // A little more, which rounding upward would carry to the next.
      above.push_back(from<TypeParam>(values.back() * 1.015625f));
    }
  }
  for (unsigned bits = 0; bits <= this->largest; ++bits) {
    EXPECT_EQ(static_cast<double>(values[bits]), test::value_of(code<TypeParam>(bits)));
    EXPECT_EQ(codes[bits], bits);
    EXPECT_EQ(above[bits], bits);
  }
}

// Ends of the range of subnormals, and floats that are subnormal themselves.
TEST(Float8Rounding, KnownCases) {
  EXPECT_EQ(from<Float8E4M3>(0x1p-9f), 0x01u);
  EXPECT_EQ(from<Float8E4M3>(0x1p-10f), 0x00u);  // a tie with 0
  EXPECT_EQ(from<Float8E4M3>(-0x1p-10f), 0x80u);
  EXPECT_EQ(from<Float8E4M3>(0x1.000002p-10f), 0x01u);
  EXPECT_EQ(from<Float8E4M3>(0x1.8p-9f), 0x02u);
  EXPECT_EQ(from<Float8E4M3>(0x1.ep-7f), 0x08u);  // 7.5 units: up to the smallest normal number
  EXPECT_EQ(from<Float8E4M3>(0.1f), 0x1Du);       // 13 * 2^-7
  EXPECT_EQ(from<Float8E4M3>(432.0f), 0x7Eu);     // a tie of 416 and 448
  EXPECT_EQ(from<Float8E4M3>(1e-45f), 0x00u);
  EXPECT_EQ(from<Float8E5M2>(0x1p-16f), 0x01u);
  EXPECT_EQ(from<Float8E5M2>(0x1p-17f), 0x00u);
  EXPECT_EQ(from<Float8E5M2>(-0x1.8p-17f), 0x81u);
  EXPECT_EQ(from<Float8E5M2>(0x1.cp-15f), 0x04u);  // 3.5 units
  EXPECT_EQ(from<Float8E5M2>(0.1f), 0x2Eu);        // 6 * 2^-6
  EXPECT_EQ(from<Float8E5M2>(61440.0f), 0x7Bu);    // where the next number would begin
  EXPECT_EQ(from<Float8E5M2>(-1e-45f), 0x80u);
}

}
