// SPDX-License-Identifier: Apache-2.0
// What edgeq asks of a thread pool: two functions, which any pool offers in four lines.
#pragma once
#include <concepts>
#include <cstddef>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Anything that runs task(0) ... task(tasks - 1), each once, in any order, at the same time or not, and
/// returns when all have returned and their writes can be seen. `concurrency()` is how many may run at once:
/// work is split by it. `task` is called through a const reference and throws nothing.
template <class E>
concept Executor = requires(const E& executor, void (*task)(std::size_t)) {
  { executor.concurrency() } -> std::convertible_to<std::size_t>;
  executor.run(std::size_t{}, task);
};

/// The calling thread, alone.
struct InlineExecutor {
  constexpr std::size_t concurrency() const noexcept { return 1; }

  template <class Task>
  constexpr void run(std::size_t tasks, const Task& task) const noexcept {
    for (std::size_t i = 0; i < tasks; ++i) task(i);
  }
};

static_assert(Executor<InlineExecutor>);

}
