// SPDX-License-Identifier: Apache-2.0
// Weights whose codes name entries of a table, super-blocks and float zeros: every kernel returns the bits of
// the scalar model under integer activations, and stays within the bound under float ones.
#include <gtest/gtest.h>

#include "support/float_grid.hpp"
#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;
using test::expect_integer_model;

TEST(CodebookModel, MxFp4) {
  expect_integer_model<MxFp4, DynamicInt8, DynamicInt16, DynamicInt8PerGroup>({1, 33, 130, 384});
}
TEST(CodebookModel, Fp4WithScalesOfE4M3) {
  expect_integer_model<Fp4<16, Float8E4M3>, DynamicInt8, DynamicInt16>({15, 49, 130});
}
TEST(CodebookModel, Iq4Nl) {
  expect_integer_model<Iq4Nl<32, Float16>, DynamicInt8, DynamicInt16PerGroup>({5, 96, 161});
}
TEST(CodebookModel, Iq4NlOfAnyGroup) {
  expect_integer_model<Iq4Nl<dynamic_group, float>, DynamicInt16>({613}, 600);
}
TEST(SuperBlockModel, Q4K) {
  expect_integer_model<Q4K, DynamicInt8, DynamicInt16, DynamicInt8PerGroup>({1, 37, 256, 801});
}
TEST(SuperBlockModel, Q6K) {
  expect_integer_model<Q6K, DynamicInt8, DynamicInt16, DynamicInt16PerGroup>({1, 37, 256, 801});
}
TEST(FloatZeroModel, Int4) {
  expect_integer_model<Int4FloatZero<32, BFloat16>, DynamicInt8, DynamicInt16>({31, 100, 256});
}

template <class F>
class TableFormat : public testing::Test {};
using Formats = testing::Types<MxFp4, Fp4<16, Float8E4M3>, Iq4Nl<32, Float16>, Nf4<64, float>, Q4K, Q6K,
                               Int4FloatZero<32, BFloat16>>;
TYPED_TEST_SUITE(TableFormat, Formats, );

TYPED_TEST(TableFormat, StaysWithinTheBoundWithF32) {
  test::expect_within_bound<TypeParam, F32>(0, {1, 31, 77, 257, 801}, {1, 2, 3, 5, 9, 33});
}
TYPED_TEST(TableFormat, StaysWithinTheBoundWithBf16) {
  test::expect_within_bound<TypeParam, Bf16>(0, {1, 31, 77, 257, 801}, {1, 2, 3, 5, 9, 33});
}
TYPED_TEST(TableFormat, ReadsSingleWeightsExactly) {
  test::expect_single_weights_exact<TypeParam, F32>(test::random_weights<TypeParam>(19, 83, 0, 3));
  test::expect_single_weights_exact<TypeParam, F32>(test::random_weights<TypeParam>(17, 520, 0, 4));
}

}
