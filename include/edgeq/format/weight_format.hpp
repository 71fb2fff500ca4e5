// SPDX-License-Identifier: Apache-2.0
// What every weight format must say about itself, and what a source of weights must offer to be packed.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "edgeq/format/codec.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Groups whose headers together fill whole cache lines.
constexpr std::size_t groups_for_whole_lines(std::size_t header_bytes) noexcept {
  return header_bytes == 0 ? 1 : line_bytes / std::gcd(header_bytes, line_bytes);
}

/// Group sizes that are not a number of k: taken from the weights at run time, or one group for all of K.
inline constexpr int dynamic_group = 0;  ///< the source says; costs at most a few percent of speed
inline constexpr int per_channel = -1;   ///< one scale per output column n
inline constexpr int per_tensor = -2;    ///< one scale for the whole matrix

/// A position of a packed row to which no column of x belongs.
inline constexpr std::uint32_t no_column = 0xFFFFFFFFu;

/// The shape of W [N, K] and the number of consecutive k that share a scale.
///
/// Where groups are not consecutive (act-order) a source packs the columns of W in an order of its own:
/// order[i] is the column k of W and of x that stands at position i of a packed row, or no_column. Every k
/// stands at exactly one position, so the order is at least K long; groups are counted in positions. An empty
/// order means the natural one.
struct WeightShape {
  std::size_t n = 0;
  std::size_t k = 0;
  std::size_t group = 0;
  std::span<const std::uint32_t> order = {};

  /// Positions of a packed row: K, unless an order has places without a column.
  constexpr std::size_t positions() const noexcept { return order.empty() ? k : order.size(); }
};

/// Refuses an order in which a column of W is missing, stands twice, or does not exist.
inline Status validate_order(std::size_t k, std::span<const std::uint32_t> order) {
  if (order.empty()) return success();
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::invalid_argument,
                 "edgeq: the order of the " + std::to_string(k) + " columns of W " + what};
  };
  if (order.size() < k) return refuse("has only " + std::to_string(order.size()) + " positions");
  std::vector<bool> seen(k, false);
  std::size_t count = 0;
  for (const std::uint32_t column : order) {
    if (column == no_column) continue;
    if (column >= k) return refuse("names column " + std::to_string(column));
    if (seen[column]) return refuse("names column " + std::to_string(column) + " twice");
    seen[column] = true;
    ++count;
  }
  if (count != k) return refuse("names only " + std::to_string(count) + " of them");
  return success();
}

/// Where the header of a packed group is: among the headers of its record, which begin at `headers`, it is
/// number `index`.
struct HeaderPlace {
  const std::uint8_t* headers;
  std::size_t index;
};

/// A weight format: what stored bits mean, and how 16 columns of a group lie in a packed record.
///
/// `decode(view, n, k)` is the definition of the format. In a panel, a group is a header of `header_bytes`
/// (scales, minima, zeros of the 16 columns) and lines of `bytes_per_line`, 64 or a multiple of it, with
/// `k_per_line` k each; the headers of `groups_per_record` groups stand together. `pack_group` writes group g
/// of a block of rows into zeroed memory: its part of the record's headers, and its lines; `unpack` reads one
/// weight.
template <class F>
concept WeightFormat = requires(const typename F::View& view, typename F::Rows& rows, std::uint8_t* to,
                                const HeaderPlace& place, const std::uint8_t* lines, std::size_t i) {
  { F::group } -> std::convertible_to<int>;
  { F::k_per_line } -> std::convertible_to<std::size_t>;
  { F::bytes_per_line } -> std::convertible_to<std::size_t>;
  { F::header_bytes } -> std::convertible_to<std::size_t>;
  { F::groups_per_record } -> std::convertible_to<std::size_t>;
  { F::accumulation_block } -> std::convertible_to<std::size_t>;
  { F::is_integer } -> std::convertible_to<bool>;
  { F::name() } -> std::same_as<std::string>;
  { F::decode(view, i, i) } -> std::same_as<float>;
  { F::pack_group(to, to, rows, i, i, i) }
  noexcept;
  { F::unpack(place, lines, i, i) }
  noexcept->std::same_as<float>;
};

/// Anything that can be packed as F: it knows its shape, can say what is wrong with it, and hands out its
/// rows. `read(n, r, rows)` writes row n of W, position by position, into row r of a block of sixteen, which
/// starts as zero; it may run on several threads at once.
template <class S, class F>
concept WeightSource = WeightFormat<F> && requires(const S& source, typename F::Rows& rows, std::size_t i) {
  { source.shape() } -> std::same_as<WeightShape>;
  { source.validate() } -> std::same_as<Status>;
  { source.read(i, i, rows) }
  noexcept;
};

}
