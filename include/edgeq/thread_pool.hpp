// SPDX-License-Identifier: Apache-2.0
// An Executor with threads of its own: a fork and a join of about a microsecond while it is in use, no load
// while it is not.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>
#if defined(__cpp_exceptions)
#include <system_error>
#endif

#include "edgeq/config.hpp"
#include "edgeq/executor.hpp"
#include "edgeq/hardware.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace detail {

// Waiting that costs little latency at first and little power later.
class Backoff {
 public:
  // Waits a moment. False when it is time to block instead.
  bool wait_briefly() {
    if (turns_ == 0) start_ = Clock::now();
    // The clock costs as much as a pause or two: look at it now and then.
    if (++turns_ % 32 != 0 && !yielding_) {
      pause();
      return true;
    }
    const auto waited = Clock::now() - start_;
    yielding_ = waited >= spin_time;
    if (yielding_) std::this_thread::yield();
    return waited < block_time;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Longer than the serial work between two layers, much shorter than a scheduler's slice.
  static constexpr std::chrono::microseconds spin_time{20};
  // To wake a blocked thread takes some 0.1 ms: it must not happen between the layers of a decode step.
  static constexpr std::chrono::milliseconds block_time{2};

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  std::uint32_t turns_ = 0;
  bool yielding_ = false;
  Clock::time_point start_;
};

}

/// Persistent threads that run tasks together with the caller. Task numbers are split into one contiguous
/// share for each thread, the same one every time, so a core finds the same part of the weights in its cache;
/// a thread that has finished its share takes tasks from the others. The caller therefore waits only for
/// tasks that a worker has begun: a worker that the system does not schedule stalls nobody. Idle workers spin
/// for 20 us, then yield, and block after 2 ms.
class ThreadPool {
 public:
  /// Starts `threads` - 1 workers; the caller of `run` is the other thread. If the system refuses a thread
  /// the pool makes do with those it has (without exceptions the standard library ends the program).
  explicit ThreadPool(std::size_t threads = default_thread_count())
      : threads_(std::max<std::size_t>(1, threads)), shares_(std::make_unique<Share[]>(threads_)) {
    workers_.reserve(threads_ - 1);
    for (std::size_t self = 1; self < threads_; ++self)
      if (!start_worker(self)) break;
    threads_ = workers_.size() + 1;
  }

  /// Ends the workers. No `run` may be in progress.
  ~ThreadPool() {
    stop_.store(true, std::memory_order_relaxed);
    ++run_number_;  // a new state without tasks: the workers look up
    for (std::size_t i = 1; i < threads_; ++i) publish(i, 0);
    wake(threads_);
    for (std::thread& worker : workers_) worker.join();
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of threads, the caller of `run` included.
  std::size_t concurrency() const noexcept { return threads_; }

  /// Runs task(0) ... task(tasks - 1), each once, and returns when all have returned. `task` must be callable
  /// from several threads at once and must not throw. While the pool is at work, a `run` from another thread
  /// or from inside a task runs its tasks on the thread that calls.
  template <class Task>
  void run(std::size_t tasks, const Task& task) const noexcept {
    if (tasks <= 1 || threads_ == 1 || tasks > max_tasks || busy_.exchange(true, std::memory_order_acquire)) {
      InlineExecutor().run(tasks, task);
      return;
    }
    context_.store(std::addressof(task), std::memory_order_relaxed);
    call_.store([](const void* context, std::size_t i) { (*static_cast<const Task*>(context))(i); },
                std::memory_order_relaxed);
    run_published(static_cast<std::uint32_t>(tasks));
    busy_.store(false, std::memory_order_release);
  }

 private:
  // A share's state in one word: the number of the run above, the tasks not yet claimed below. A claim counts
  // the word down by compare-and-swap, so it succeeds only while the run that it saw is still unfinished; the
  // fields of that run (call_, context_, tasks_), read in between, are then those of that run.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> state{0};
    std::atomic<std::uint32_t> asleep{0};  // 1: the share's worker blocks until this is 0
  };

  static constexpr std::uint32_t caller_blocks = std::uint32_t{1} << 31;  // a flag in unfinished_
  static constexpr std::size_t max_tasks = caller_blocks - 1;

  static std::uint32_t unclaimed(std::uint64_t state) { return static_cast<std::uint32_t>(state); }

  // The first task of share i; the last share ends where share `threads_` would begin.
  std::size_t share_begin(std::size_t i, std::size_t tasks) const {
    return i * (tasks / threads_) + std::min(i, tasks % threads_);
  }

  // Called by the one thread that holds busy_.
  void run_published(std::uint32_t tasks) const {
    tasks_.store(tasks, std::memory_order_relaxed);
    unfinished_.store(tasks, std::memory_order_relaxed);
    ++run_number_;
    const std::size_t shares = std::min<std::size_t>(threads_, tasks);
    for (std::size_t i = 0; i < shares; ++i)
      publish(i, static_cast<std::uint32_t>(share_begin(i + 1, tasks) - share_begin(i, tasks)));
    wake(shares);
    work_from(0);

    detail::Backoff backoff;
    while ((unfinished_.load(std::memory_order_acquire) & ~caller_blocks) != 0) {
      if (backoff.wait_briefly()) continue;
      const std::uint32_t left =
          unfinished_.fetch_or(caller_blocks, std::memory_order_acq_rel) | caller_blocks;
      if (left != caller_blocks) unfinished_.wait(left, std::memory_order_acquire);
    }
  }

  void publish(std::size_t i, std::uint32_t tasks) const {
    shares_[i].state.store(std::uint64_t{run_number_} << 32 | tasks, std::memory_order_release);
  }

  // Wakes the blocked workers among the first `shares`, whose shares have been published. The read is a
  // read-modify-write so that either a worker that is about to block sees its share, or this sees the worker.
  void wake(std::size_t shares) const {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    for (std::size_t i = 1; i < shares; ++i) {
      if (shares_[i].asleep.load(std::memory_order_relaxed) == 0) continue;
      shares_[i].asleep.store(0, std::memory_order_relaxed);
      shares_[i].asleep.notify_one();
    }
  }

  // Claims and runs tasks, those of share `self` first, until no share has any left.
  void work_from(std::size_t self) const {
    for (std::size_t i = self; i < threads_; ++i) work_on(i);
    for (std::size_t i = 0; i < self; ++i) work_on(i);
  }

  void work_on(std::size_t i) const {
    std::atomic<std::uint64_t>& state = shares_[i].state;
    std::uint64_t seen = state.load(std::memory_order_acquire);
    while (unclaimed(seen) != 0) {
      const auto call = call_.load(std::memory_order_relaxed);
      const void* context = context_.load(std::memory_order_relaxed);
      const std::size_t end = share_begin(i + 1, tasks_.load(std::memory_order_relaxed));
      if (!state.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      call(context, end - unclaimed(seen));
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == (caller_blocks | 1))
        unfinished_.notify_one();
      seen = state.load(std::memory_order_acquire);
    }
  }

  // Returns when share `self` is no longer in the state `seen`.
  void await_share(std::size_t self, std::uint64_t seen) const {
    Share& share = shares_[self];
    detail::Backoff backoff;
    while (share.state.load(std::memory_order_acquire) == seen) {
      if (backoff.wait_briefly()) continue;
      share.asleep.store(1, std::memory_order_relaxed);
      sleepers_.fetch_add(1, std::memory_order_acq_rel);
      if (share.state.load(std::memory_order_acquire) == seen)
        share.asleep.wait(1, std::memory_order_relaxed);
      sleepers_.fetch_sub(1, std::memory_order_acq_rel);
      share.asleep.store(0, std::memory_order_relaxed);
    }
  }

  void work_until_stopped(std::size_t self) const {
    while (true) {
      const std::uint64_t seen = shares_[self].state.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      if (unclaimed(seen) == 0) await_share(self, seen);
      work_from(self);
    }
  }

  bool start_worker(std::size_t self) {
#if defined(__cpp_exceptions)
    try {
      workers_.emplace_back([this, self] { work_until_stopped(self); });
    } catch (const std::system_error&) {
      return false;
    }
#else
    workers_.emplace_back([this, self] { work_until_stopped(self); });
#endif
    return true;
  }

  std::size_t threads_;
  std::unique_ptr<Share[]> shares_;
  std::vector<std::thread> workers_;
  std::atomic<bool> stop_{false};

  mutable std::atomic<bool> busy_{false};
  mutable std::uint32_t run_number_ = 0;
  mutable std::atomic<void (*)(const void*, std::size_t)> call_{nullptr};
  mutable std::atomic<const void*> context_{nullptr};
  mutable std::atomic<std::uint32_t> tasks_{0};
  mutable std::atomic<std::uint32_t> sleepers_{0};
  alignas(64) mutable std::atomic<std::uint32_t> unfinished_{0};  // tasks that have not returned
};

static_assert(Executor<ThreadPool>);

}
