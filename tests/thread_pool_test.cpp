// SPDX-License-Identifier: Apache-2.0
// ThreadPool runs every task once and ends, also with too few processors, several callers and blocked
// workers.
#include "edgeq/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EDGEQ_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EDGEQ_TEST_SANITIZED
#endif
#endif

namespace {

using namespace std::chrono_literals;
using edgeq::ThreadPool;

// Ends the program if the test is not over in time: a pool that hangs cannot be joined.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit)
      : thread_([this, limit] {
          if (over_.try_acquire_for(limit)) return;
          std::fputs("a run of the pool did not end\n", stderr);
          std::abort();
        }) {}
  ~Watchdog() {
    over_.release();
    thread_.join();
  }

 private:
  std::binary_semaphore over_{0};
  std::thread thread_;
};

class ThreadPoolTest : public testing::Test {
 private:
  Watchdog watchdog_{30s};
};

// How often each of `tasks` tasks ran.
std::vector<int> counts(const ThreadPool& pool, std::size_t tasks) {
  std::vector<int> ran(tasks, 0);
  pool.run(tasks, [&](std::size_t i) { ++ran[i]; });
  return ran;
}

TEST_F(ThreadPoolTest, RunsEveryTaskOnce) {
  for (const std::size_t threads : {0u, 1u, 2u, 3u, 4u, 7u}) {
    const ThreadPool pool(threads);
    EXPECT_EQ(pool.concurrency(), std::max<std::size_t>(1, threads));
    for (const std::size_t tasks : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 64u, 1001u})
      EXPECT_EQ(counts(pool, tasks), std::vector<int>(tasks, 1))
          << threads << " threads, " << tasks << " tasks";
  }
}

TEST_F(ThreadPoolTest, StartsNoWorkerForOneThread) {
  const ThreadPool pool(1);
  std::set<std::thread::id> ids;
  pool.run(8, [&](std::size_t) { ids.insert(std::this_thread::get_id()); });
  EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

// Each task waits for all the others: they can end only if they run at the same time.
TEST_F(ThreadPoolTest, RunsAsManyTasksAtOnceAsItHasThreads) {
  constexpr std::size_t threads = 4;
  const ThreadPool pool(threads);
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> present{0};
    pool.run(threads, [&](std::size_t) {
      ++present;
      while (present.load() != threads) std::this_thread::yield();
    });
    EXPECT_EQ(present.load(), threads);
  }
}

// One task holds its thread until all others are done, those of its own share included.
TEST_F(ThreadPoolTest, TakesOverTheShareOfAThreadThatIsBusy) {
  constexpr std::size_t tasks = 40;
  const ThreadPool pool(4);
  for (const std::size_t slow : {std::size_t{0}, std::size_t{10}, tasks - 1}) {
    std::atomic<std::size_t> done{0};
    pool.run(tasks, [&](std::size_t i) {
      if (i == slow)
        while (done.load() != tasks - 1) std::this_thread::yield();
      else
        ++done;
    });
    EXPECT_EQ(done.load(), tasks - 1);
  }
}

// What the tasks wrote is there when run returns, and what the caller wrote is there when they start.
TEST_F(ThreadPoolTest, PassesResultsFromRunToRun) {
  const ThreadPool pool(4);
  std::vector<std::uint64_t> values(16, 1);
  std::uint64_t expected = 1;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    pool.run(values.size(), [&](std::size_t i) { values[i] = values[i] * 3 + round; });
    expected = expected * 3 + round;
    ASSERT_EQ(values, std::vector<std::uint64_t>(values.size(), expected));
  }
}

TEST_F(ThreadPoolTest, ServesTwoCallersAtOnce) {
  const ThreadPool pool(3);
  std::atomic<std::uint64_t> sum{0};
  const auto call = [&] {
    for (int round = 0; round < 1000; ++round) pool.run(10, [&](std::size_t i) { sum += i; });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(sum.load(), 2u * 1000u * 45u);
}

TEST_F(ThreadPoolTest, RunsANestedCallOnTheCallingThread) {
  const ThreadPool pool(3);
  std::atomic<int> ran{0}, strangers{0};
  pool.run(5, [&](std::size_t) {
    const std::thread::id outer = std::this_thread::get_id();
    pool.run(7, [&](std::size_t) {
      ++ran;
      if (std::this_thread::get_id() != outer) ++strangers;
    });
  });
  EXPECT_EQ(ran.load(), 35);
  EXPECT_EQ(strangers.load(), 0);
}

// Tasks that take longer than the caller spins: it blocks and is woken by the last one.
TEST_F(ThreadPoolTest, WaitsForLongTasks) {
  const ThreadPool pool(3);
  std::atomic<int> ran{0};
  for (int round = 0; round < 5; ++round)
    pool.run(3, [&](std::size_t i) {
      std::this_thread::sleep_for(i == 0 ? 0ms : 10ms);
      ++ran;
    });
  EXPECT_EQ(ran.load(), 15);
}

TEST_F(ThreadPoolTest, WorksAgainAfterAPause) {
  const ThreadPool pool(4);
  for (int round = 0; round < 4; ++round) {
    std::atomic<std::size_t> present{0};
    pool.run(4, [&](std::size_t) {
      ++present;
      while (present.load() != 4) std::this_thread::yield();  // needs every worker awake
    });
    std::this_thread::sleep_for(50ms);
  }
}

// Pauses around the time after which workers block: a wake-up that falls between would be lost for good.
TEST_F(ThreadPoolTest, LosesNoWakeUp) {
  const ThreadPool pool(3);
  for (int round = 0; round < 300; ++round) {
    std::atomic<std::size_t> present{0};
    pool.run(3, [&](std::size_t) {
      ++present;
      while (present.load() != 3) std::this_thread::yield();
    });
    std::this_thread::sleep_for(1800us + 2us * round);
  }
}

TEST_F(ThreadPoolTest, EndsWhileItsWorkersSpinOrBlock) {
  for (const auto pause : {0ms, 1ms, 20ms}) {
    const ThreadPool pool(4);
    EXPECT_EQ(counts(pool, 9), std::vector<int>(9, 1));
    std::this_thread::sleep_for(pause);
  }
  const ThreadPool never_used(4);
}

#if defined(__linux__)

TEST_F(ThreadPoolTest, UsesNoProcessorWhileIdle) {
  const ThreadPool pool(4);
  counts(pool, 16);
  std::this_thread::sleep_for(100ms);  // far more than it takes to block
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(100ms);
  // A single spinning worker would use 100 ms of processor time.
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 50);
}

// Four threads on one processor: with a barrier that only spins this takes hours.
TEST_F(ThreadPoolTest, EndsWithMoreThreadsThanProcessors) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    const ThreadPool pool(4);  // the workers inherit the affinity
    constexpr std::size_t n = 256, k = 256;
    std::vector<std::int32_t> weights(n * k), x(k), y(n), expected(n);
    std::iota(weights.begin(), weights.end(), 0);
    std::iota(x.begin(), x.end(), -100);
    const auto dot = [&](std::size_t row) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += std::int64_t{weights[row * k + i]} * x[i];
      return static_cast<std::int32_t>(sum % 1000003);
    };
    for (std::size_t row = 0; row < n; ++row) expected[row] = dot(row);
    for (int call = 0; call < 2000; ++call) {
      std::fill(y.begin(), y.end(), -1);
      pool.run(4, [&](std::size_t quarter) {
        for (std::size_t row = quarter * n / 4; row < (quarter + 1) * n / 4; ++row) y[row] = dot(row);
      });
      ASSERT_EQ(y, expected) << "call " << call;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// Whether the pool works with fewer threads than it asked for: the address space has room for some stacks
// only.
bool runs_with_few_stacks() {
  const rlimit limit{std::size_t{1} << 28, std::size_t{1} << 28};
  setrlimit(RLIMIT_AS, &limit);
  const ThreadPool pool(1000);
  return pool.concurrency() < 1000 && counts(pool, 5000) == std::vector<int>(5000, 1);
}

TEST(ThreadPoolDeathTest, MakesDoWithTheThreadsItGets) {
#if defined(EDGEQ_TEST_SANITIZED)
  GTEST_SKIP() << "the sanitizer needs the whole address space";
#elif !defined(__cpp_exceptions)
  GTEST_SKIP() << "without exceptions a refused thread ends the program";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::_Exit(runs_with_few_stacks() ? 0 : 1), testing::ExitedWithCode(0), "");
}

#endif

}
