// SPDX-License-Identifier: Apache-2.0
// 4-bit weights with integer activations: every kernel returns the bits of the scalar model, for any shape,
// group and split.
#include <gtest/gtest.h>

#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;
using test::expect_integer_model;

// Each offset meets each scale type, each group, and group-wise and 16-bit activations at least once.

TEST(Int4Model, Group8) {
  expect_integer_model<Int4<8, Float16>, DynamicInt8, DynamicInt16PerGroup>({1, 8, 61});
}
TEST(Int4Model, Group20) {
  expect_integer_model<Int4<20, float>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>({3, 20, 39, 61, 133});
}
TEST(Int4Model, Group32WithZeros) {
  expect_integer_model<Int4Zero<32, BFloat16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>({31, 33, 256});
}
TEST(Int4Model, Group48WithMinima) {
  expect_integer_model<Int4Min<48, Float16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>({5, 49, 143});
}
TEST(Int4Model, Group128) {
  expect_integer_model<Int4<128, BFloat16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16>({127, 130, 384});
}
TEST(Int4Model, Group640LongerThanABlock) {
  expect_integer_model<Int4Zero<640, Float16>, DynamicInt16, DynamicInt16PerGroup>({511, 639, 1291});
}
TEST(Int4Model, PerChannel) {
  expect_integer_model<Int4<per_channel, float>, DynamicInt8, DynamicInt16>({1, 512, 1037});
}
TEST(Int4Model, PerTensorWithMinimum) {
  expect_integer_model<Int4Min<per_tensor, float>, DynamicInt8PerGroup, DynamicInt16>({33, 1037});
}
TEST(Int4Model, GroupKnownAtRunTimeOnly) {
  for (const std::size_t group : {7u, 16u, 600u}) {
    SCOPED_TRACE("group " + std::to_string(group));
    expect_integer_model<Int4Zero<dynamic_group, float>, DynamicInt8, DynamicInt16PerGroup>({1, 613}, group);
  }
}

}
