// SPDX-License-Identifier: Apache-2.0
// Your own pool in a few lines, and edgeq's: the same bits from both.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "edgeq/linear.hpp"
#include "edgeq/thread_pool.hpp"

/// Anything that can run task(0) ... task(tasks - 1) and wait for all. A real one keeps its threads.
struct MyPool {
  std::size_t concurrency() const { return 3; }
  template <class Task>
  void run(std::size_t tasks, const Task& task) const {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < tasks; ++i) threads.emplace_back([&task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  }
};

int main() {
  constexpr std::size_t N = 300, K = 512, M = 4;
  std::vector<std::uint8_t> codes(N * K, 200);
  std::vector<edgeq::BFloat16> scales(N * K / 64, edgeq::BFloat16::from_float(0.5f));
  auto layer = edgeq::Linear<edgeq::Int8<64>, edgeq::DynamicInt8>::pack(
      {.n = N, .k = K, .codes = codes, .scales = scales});
  if (!layer) return 1;

  std::vector<float> x(M * K), mine(M * N), ours(M * N);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0f;
  edgeq::Prepared workspace;
  const edgeq::ThreadPool pool;
  if (!layer->prepare(workspace, {x.data(), M, K}, pool)) return 1;
  layer->run(workspace, {ours.data(), M, N}, pool);
  layer->run(workspace, {mine.data(), M, N}, MyPool());
  std::printf("%zu threads of edgeq, 3 of mine: %s\n", pool.concurrency(),
              std::memcmp(mine.data(), ours.data(), mine.size() * sizeof(float)) == 0 ? "the same bits"
                                                                                      : "different");
}
