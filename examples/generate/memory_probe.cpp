// SPDX-License-Identifier: Apache-2.0
// Asks the operating system, and reads.
#include "generate/memory_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "edgeq/layout/aligned_buffer.hpp"
#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace generate {
namespace {

// Reads whole cache lines as four far-apart streams, the pattern that is fastest; returns a value that
// depends on all of them. Wide registers would not help: memory is slower than any of them.
std::uint64_t read_bytes(const std::byte* data, std::size_t bytes) {
  using Words __attribute__((vector_size(32))) = std::uint64_t;
  const std::size_t quarter = bytes / 256 * 64;
  Words sums[4] = {};
  for (std::size_t i = 0; i < quarter; i += 64)
    EDGEQ_FOR (stream, 4) {
      Words line[2];
      std::memcpy(line, data + stream * quarter + i, sizeof line);
      sums[stream] += line[0] + line[1];
    }
  const Words sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

}

std::size_t peak_memory_bytes() {
#if __has_include(<sys/resource.h>)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return static_cast<std::size_t>(usage.ru_maxrss);
#else
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
#endif
#else
  return 0;
#endif
}

double probe_memory_read(const edgeq::ThreadPool& pool) {
  constexpr std::size_t chunk_bytes = std::size_t{16} << 20, chunks = 8, rounds = 2;
  const edgeq::AlignedBuffer memory(chunk_bytes * chunks);
  if (memory.data() == nullptr) return 0;
  std::memset(memory.data(), 0x5B, memory.size());
  const std::size_t threads = pool.concurrency(), share = chunk_bytes / threads / 4096 * 4096;
  std::vector<std::uint64_t> sums(threads);  // keeps the reads alive
  double best = 0;
  for (std::size_t i = 0; i < chunks * rounds; ++i) {
    const std::byte* chunk = memory.data() + i % chunks * chunk_bytes;
    const auto start = std::chrono::steady_clock::now();
    pool.run(threads, [&](std::size_t t) { sums[t] += read_bytes(chunk + t * share, share); });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>(share * threads) / seconds);
  }
  return best * 1e-9;
}

}
