// SPDX-License-Identifier: Apache-2.0
// The process-wide counts: atomics without locks, since signal handlers of several threads add to them.
#include "support/amx/counts.hpp"

#include <atomic>
#include <cstddef>

namespace amx_emulator {

namespace {

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);

Count operations[operation_count], events[event_count];

Count& counter(Operation operation) {
  return operations[static_cast<std::size_t>(operation)];
}
Count& counter(Event event) {
  return events[static_cast<std::size_t>(event)];
}

}

void count(Operation operation) {
  counter(operation).fetch_add(1, std::memory_order_relaxed);
}
void count(Event event) {
  counter(event).fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t count_of(Operation operation) {
  return counter(operation).load(std::memory_order_relaxed);
}
std::uint64_t count_of(Event event) {
  return counter(event).load(std::memory_order_relaxed);
}

void reset_counts() {
  for (Count& operation : operations) operation.store(0, std::memory_order_relaxed);
  for (Count& event : events) event.store(0, std::memory_order_relaxed);
}

}
