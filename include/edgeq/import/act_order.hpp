// SPDX-License-Identifier: Apache-2.0
// Act-order: the `g_idx` of checkpoints whose groups are not consecutive columns, turned into an order in
// which they are.
#pragma once
#include <algorithm>

#include "edgeq/import/tensor_checks.hpp"
#include "edgeq/layout/panel.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Where the columns of W stand in packed rows, and which group of the checkpoint each packed group is a part
/// of. Both are empty where the columns are in groups of their natural order.
struct GroupOrder {
  std::vector<std::uint32_t> columns;  ///< WeightShape::order
  std::vector<std::uint32_t> groups;   ///< the checkpoint's group of each packed group

  /// The checkpoint's group of packed group g.
  std::size_t source_group(std::size_t g) const noexcept { return groups.empty() ? g : groups[g]; }
};

/// What a g_idx that tells nothing looks like besides k / group_size.
enum class UnsetGroupIndex : std::uint8_t {
  none,   ///< no other
  zeros,  ///< all zeros, although there are several groups: GPTQ without act-order
  minus,  ///< all -1: compressed-tensors, never initialised
};

/// The order of `group_index` [K or more; only K elements count], int32: the group, below `groups`, of every
/// column. Groups may have any number of columns, even none; one of c columns takes ceil(c / group_size)
/// packed groups, in ascending order of its columns, and no_column fills the last of them.
///
/// Refuses elements below 0 or from `groups` on. Needs memory for K + group_size * min(K, groups) columns.
inline Result<GroupOrder> group_order(const TensorChecks& checks, const CheckpointTensor& group_index,
                                      std::size_t k, std::size_t group_size, std::size_t groups,
                                      UnsetGroupIndex unset) {
  if (Status status = checks.type_and_rank(group_index, {ElementType::i32}, 1); !status)
    return status.error();
  if (group_index.shape[0] < k)
    return checks.error(ErrorCode::invalid_file, group_index.name,
                        "is " + describe(group_index) + "; K is " + std::to_string(k));
  if (k >= no_column)
    return checks.error(ErrorCode::too_large, group_index.name,
                        "orders " + std::to_string(k) + " columns; at most 2^32 - 2 can be");
  const auto stored = [&](std::size_t column) { return group_index.at<std::int32_t>(column); };
  const auto group = [&](std::size_t column) {
    return static_cast<std::size_t>(stored(column));
  };  // -1: huge
  const auto all = [&](const auto& predicate) {
    for (std::size_t i = 0; i < k; ++i)
      if (!predicate(i)) return false;
    return true;
  };
  if (unset == UnsetGroupIndex::zeros && all([&](std::size_t i) { return stored(i) == 0; }))
    return GroupOrder{};
  if (unset == UnsetGroupIndex::minus && all([&](std::size_t i) { return stored(i) == -1; }))
    return GroupOrder{};

  std::vector<std::size_t> begin(groups);  // first the sizes, then the positions
  for (std::size_t i = 0; i < k; ++i) {
    if (group(i) >= groups)
      return checks.error(ErrorCode::invalid_file, group_index.name,
                          "puts column " + std::to_string(i) + " into group " + std::to_string(stored(i)) +
                              "; there are " + std::to_string(groups) + " groups");
    ++begin[group(i)];
  }
  if (all([&](std::size_t i) { return group(i) == i / group_size; })) return GroupOrder{};

  GroupOrder order;
  std::size_t positions = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t parts = divide_up(begin[g], group_size);
    begin[g] = positions;
    positions += parts * group_size;
    order.groups.insert(order.groups.end(), parts, static_cast<std::uint32_t>(g));
  }
  order.columns.assign(positions, no_column);
  for (std::size_t i = 0; i < k; ++i) order.columns[begin[group(i)]++] = static_cast<std::uint32_t>(i);
  while (!order.columns.empty() && order.columns.back() == no_column) order.columns.pop_back();
  return order;
}

}
