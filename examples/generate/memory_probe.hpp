// SPDX-License-Identifier: Apache-2.0
// What this process took of the memory, and how fast the memory could be read at best.
#pragma once
#include <cstddef>

#include "edgeq/thread_pool.hpp"

namespace generate {

/// The most bytes that were resident at once so far; 0 if the system does not say.
std::size_t peak_memory_bytes();

/// The ceiling of every decode: the best rate in GB/s at which the pool's threads read chunks of 128 MiB that
/// is not in their caches.
double probe_memory_read(const edgeq::ThreadPool& pool);

}
