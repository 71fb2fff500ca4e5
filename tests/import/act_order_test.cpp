// SPDX-License-Identifier: Apache-2.0
// The order of columns that a g_idx describes: positions, padding, what means nothing and what is refused.
#include "edgeq/import/act_order.hpp"

#include <gtest/gtest.h>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using test::TensorStore;

Result<GroupOrder> order_of(const std::vector<std::int32_t>& g_idx, std::size_t k, std::size_t group_size,
                            std::size_t groups, UnsetGroupIndex unset = UnsetGroupIndex::none) {
  TensorStore store;
  return group_order(TensorChecks("test"), store.integers("layer.g_idx", g_idx), k, group_size, groups,
                     unset);
}

constexpr std::uint32_t none = no_column;
using Columns = std::vector<std::uint32_t>;

TEST(ActOrder, ColumnsAscendInsideTheirGroup) {
  const auto order = order_of({1, 0, 1, 0, 1, 0, 1, 0}, 8, 4, 2);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->columns, (Columns{1, 3, 5, 7, 0, 2, 4, 6}));
  EXPECT_EQ(order->groups, (Columns{0, 1}));
  EXPECT_EQ(order->source_group(1), 1u);
}

TEST(ActOrder, UnevenGroupsAreSplitAndPadded) {
  // Group 0 has five columns, group 1 none, group 2 one, group 3 two.
  const auto order = order_of({0, 3, 0, 0, 2, 0, 3, 0}, 8, 2, 4);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->columns, (Columns{0, 2, 3, 5, 7, none, 4, none, 1, 6}));
  EXPECT_EQ(order->groups, (Columns{0, 0, 0, 2, 3}));
}

TEST(ActOrder, NoPaddingFollowsTheLastColumn) {
  const auto order = order_of({0, 1, 0, 0, 1}, 5, 4, 2);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->columns, (Columns{0, 2, 3, none, 1, 4}));
  EXPECT_EQ(order->groups, (Columns{0, 1}));
}

TEST(ActOrder, ConsecutiveGroupsAreTheNaturalOrder) {
  const auto order = order_of({0, 0, 0, 1, 1, 1, 2}, 7, 3, 3);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->columns.empty());
  EXPECT_TRUE(order->groups.empty());
  EXPECT_EQ(order->source_group(2), 2u);
}

TEST(ActOrder, AnUnsetIndexIsTheNaturalOrder) {
  const auto zeros = order_of({0, 0, 0, 0}, 4, 2, 2, UnsetGroupIndex::zeros);
  ASSERT_TRUE(zeros);
  EXPECT_TRUE(zeros->columns.empty());
  const auto minus = order_of({-1, -1, -1, -1}, 4, 2, 2, UnsetGroupIndex::minus);
  ASSERT_TRUE(minus);
  EXPECT_TRUE(minus->columns.empty());
  const auto real = order_of({0, 0, 0, 0}, 4, 2, 2);  // all columns do share the scale of group 0
  ASSERT_TRUE(real);
  EXPECT_EQ(real->groups, (Columns{0, 0}));
}

TEST(ActOrder, ElementsBeyondKDoNotCount) {
  const auto order = order_of({1, 0, 99}, 2, 1, 2);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->columns, (Columns{1, 0}));
}

TEST(ActOrder, AGroupThatIsNotThereIsRefused) {
  test::expect_refused(order_of({0, 1, 0, 1, 0, 1, 0, 2}, 8, 4, 2), ErrorCode::invalid_file,
                       {"layer.g_idx", "column 7", "group 2", "2 groups"});
  test::expect_refused(order_of({0, 1, -1, 1}, 4, 2, 2), ErrorCode::invalid_file,
                       {"layer.g_idx", "group -1"});
  test::expect_refused(order_of({0, 1, -1, -1}, 4, 2, 2, UnsetGroupIndex::minus), ErrorCode::invalid_file,
                       {"column 2", "group -1"});
}

TEST(ActOrder, ALengthOrTypeThatIsNotRightIsRefused) {
  test::expect_refused(order_of({0, 1, 0, 1, 0, 1, 0}, 8, 4, 2), ErrorCode::invalid_file,
                       {"layer.g_idx", "I32 [7]", "K is 8"});
  TensorStore store;
  const auto wide = store.add<std::int64_t>("layer.g_idx", ElementType::i64, {2}, {0, 1});
  test::expect_refused(group_order(TensorChecks("test"), wide, 2, 1, 2, UnsetGroupIndex::none),
                       ErrorCode::unsupported, {"layer.g_idx", "I64 [2]", "must be I32"});
}

}
