// SPDX-License-Identifier: Apache-2.0
// 8-bit weights with integer activations: every kernel returns the bits of the scalar model, for any shape,
// group and split.
#include <gtest/gtest.h>

#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;
using test::expect_integer_model;

TEST(Int8Model, Group8WithMinima) {
  expect_integer_model<Int8Min<8, float>, DynamicInt8, DynamicInt16PerGroup>({1, 8, 61});
}
TEST(Int8Model, Group20WithZeros) {
  expect_integer_model<Int8Zero<20, Float16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>(
      {3, 20, 39, 133});
}
TEST(Int8Model, Group32) {
  expect_integer_model<Int8<32, Float16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>({31, 33, 256});
}
TEST(Int8Model, Group48WithZeros) {
  expect_integer_model<Int8Zero<48, float>, DynamicInt8, DynamicInt16PerGroup>({5, 49, 143});
}
TEST(Int8Model, Group128WithMinima) {
  expect_integer_model<Int8Min<128, BFloat16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>(
      {127, 130, 384});
}
TEST(Int8Model, Group640LongerThanABlock) {
  expect_integer_model<Int8<640, BFloat16>, DynamicInt8PerGroup, DynamicInt16>({511, 639, 1291});
}
TEST(Int8Model, PerChannelWithZerosInBlocksOf256) {
  expect_integer_model<Int8Zero<per_channel, BFloat16>, DynamicInt8, DynamicInt16>({1, 255, 513, 1037});
}
TEST(Int8Model, PerTensor) {
  expect_integer_model<Int8<per_tensor, float>, DynamicInt8, DynamicInt16PerGroup>({33, 1037});
}
TEST(Int8Model, GroupKnownAtRunTimeOnly) {
  for (const std::size_t group : {7u, 16u, 600u}) {
    SCOPED_TRACE("group " + std::to_string(group));
    expect_integer_model<Int8Min<dynamic_group, Float16>, DynamicInt8, DynamicInt16PerGroup>({1, 613}, group);
  }
}

}
