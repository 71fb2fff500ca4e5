// SPDX-License-Identifier: Apache-2.0
// How fast this machine reads memory: the ceiling of every decode kernel, measured beside the kernels
// themselves.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "edgeq/cpu.hpp"
#include "edgeq/executor.hpp"
#include "edgeq/layout/aligned_buffer.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

/// Seconds since some fixed moment. With one thread, of its CPU time, which a neighbour on the core cannot
/// lengthen.
inline double seconds_now(std::size_t threads) {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  if (threads == 1) {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
#endif
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Each reads four far-apart streams of whole cache lines, the pattern that is fastest, and returns a value
// that depends on what it read.
#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) inline std::uint64_t read_avx512(const std::byte* data,
                                                                              std::size_t bytes) {
  const std::size_t quarter = bytes / 256 * 64;
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (std::size_t i = 0; i < quarter; i += 64) {
    a = _mm512_add_epi64(a, _mm512_loadu_si512(data + i));
    b = _mm512_add_epi64(b, _mm512_loadu_si512(data + quarter + i));
    c = _mm512_add_epi64(c, _mm512_loadu_si512(data + 2 * quarter + i));
    d = _mm512_add_epi64(d, _mm512_loadu_si512(data + 3 * quarter + i));
  }
  std::uint64_t sums[8];
  _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d)));
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}
__attribute__((target("avx2"), noinline)) inline std::uint64_t read_avx2(const std::byte* data,
                                                                         std::size_t bytes) {
  const std::size_t quarter = bytes / 256 * 64;
  __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                    _mm256_setzero_si256()};
  for (std::size_t i = 0; i < quarter; i += 64)
#pragma GCC unroll 4
    for (std::size_t s = 0; s < 4; ++s) {
      const auto* line = reinterpret_cast<const __m256i*>(data + s * quarter + i);
      sum[s] =
          _mm256_add_epi64(sum[s], _mm256_add_epi64(_mm256_loadu_si256(line), _mm256_loadu_si256(line + 1)));
    }
  std::uint64_t sums[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums),
                      _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3])));
  return sums[0] + sums[1] + sums[2] + sums[3];
}
#endif
inline std::uint64_t read_portable(const std::byte* data, std::size_t bytes) {
  const std::size_t quarter = bytes / 256 * 64;
  std::uint64_t sum[4] = {};
  for (std::size_t i = 0; i < quarter; i += 64)
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t j = 0; j < 64; j += 8) {
        std::uint64_t word;
        std::memcpy(&word, data + s * quarter + i + j, sizeof(word));
        sum[s] += word;
      }
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}
inline std::uint64_t read_bytes(const std::byte* data, std::size_t bytes) {
#if defined(__x86_64__)
  if (edgeq::CpuFeatures::detect().has(edgeq::Feature::avx512)) return read_avx512(data, bytes);
  if (edgeq::CpuFeatures::detect().has(edgeq::Feature::avx2)) return read_avx2(data, bytes);
#endif
  return read_portable(data, bytes);
}

/// Reads chunks of cold memory between other measurements and keeps the best rate seen.
class DramProbe {
 public:
  /// 16 MiB are long against the start of a stream, and 32 chunks are far beyond any cache slice of one core.
  static constexpr std::size_t chunk_bytes = std::size_t{16} << 20, chunks = 32;

  DramProbe() : memory_(chunk_bytes * chunks) { std::memset(memory_.data(), 0x5B, memory_.size()); }

  /// Reads the next chunk with all threads of `executor`.
  template <edgeq::Executor E>
  void sample(const E& executor) {
    const std::size_t threads = executor.concurrency();
    const std::byte* chunk = memory_.data() + chunk_bytes * (next_++ % chunks);
    const std::size_t share = chunk_bytes / threads / 4096 * 4096;
    std::uint64_t sums[64] = {};
    const double start = seconds_now(threads);
    executor.run(threads, [&](std::size_t t) { sums[t % 64] = read_bytes(chunk + t * share, share); });
    const double seconds = seconds_now(threads) - start;
    for (std::uint64_t s : sums) checksum_ ^= s;
    best_ = std::max(best_, static_cast<double>(share * threads) / seconds);
  }

  double gigabytes_per_second() const { return best_ * 1e-9; }
  std::uint64_t checksum() const { return checksum_; }

 private:
  edgeq::AlignedBuffer memory_;
  std::size_t next_ = 0;
  double best_ = 0;
  std::uint64_t checksum_ = 0;
};

}
