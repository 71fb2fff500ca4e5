// SPDX-License-Identifier: Apache-2.0
// Byte-pair merging with a heap of candidates, so that a text of n symbols costs O(n log n).
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace generate {

/// What two neighbours become, and how urgent that is: the least rank first.
template <class Symbol>
struct Merge {
  double rank;
  Symbol merged;
};

/// Applies the most urgent merge, the leftmost of equals, until none is left. `find_merge(left, right)`
/// returns std::optional<Merge<Symbol>>; a merged symbol is equal to none of those it was made of.
template <class Symbol, class FindMerge>
void merge_symbols(std::vector<Symbol>& symbols, const FindMerge& find_merge) {
  // A merged symbol lives on in the place of its left half; `next` and `previous` link the places still
  // alive.
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  const std::size_t count = symbols.size();
  std::vector<std::size_t> next(count), previous(count);
  struct Candidate {
    double rank;
    std::size_t place;
    Symbol left, right, merged;
    bool operator>(const Candidate& other) const {
      return std::pair(rank, place) > std::pair(other.rank, other.place);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](std::size_t place) {
    if (place == none || next[place] == none) return;
    const Symbol left = symbols[place], right = symbols[next[place]];
    if (const auto merge = find_merge(left, right))
      candidates.push({merge->rank, place, left, right, merge->merged});
  };
  for (std::size_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? none : i - 1;
    next[i] = i + 1 == count ? none : i + 1;
  }
  for (std::size_t i = 0; i < count; ++i) propose(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const std::size_t right = next[best.place];
    if (right == none || symbols[best.place] != best.left || symbols[right] != best.right) continue;  // stale
    symbols[best.place] = best.merged;
    next[best.place] = next[right];
    if (next[right] != none) previous[next[right]] = best.place;
    next[right] = none;  // dead: no candidate begins here any more
    propose(previous[best.place]);
    propose(best.place);
  }
  std::vector<Symbol> alive;
  for (std::size_t i = 0; i < count; i = next[i]) alive.push_back(symbols[i]);
  symbols = std::move(alive);
}

}
