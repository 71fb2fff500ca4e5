// SPDX-License-Identifier: Apache-2.0
// The default number of threads on machines described by files in a temporary folder.
#include "edgeq/hardware.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

// A folder that stands for the root of a Linux machine.
class UsableThreads : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "edgeq_machine_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (int cpu = 0; cpu < 8; ++cpu) set_cpu(cpu, "online", "1");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void set_cpu(int cpu, const std::string& file, const std::string& text) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file, text);
  }
  void set_siblings(int first, int last) {
    for (int cpu = first; cpu <= last; ++cpu)
      set_cpu(cpu, "topology/thread_siblings_list", std::to_string(first) + "-" + std::to_string(last));
  }

  // The threads for processors `first` to `last`.
  std::size_t threads(int first, int last) const {
    std::vector<int> affinity(static_cast<std::size_t>(last - first + 1));
    std::iota(affinity.begin(), affinity.end(), first);
    return edgeq::usable_threads(root_, affinity);
  }

  std::string root_;
};

TEST_F(UsableThreads, FollowsTheAffinity) {
  EXPECT_EQ(threads(0, 3), 4u);
  EXPECT_EQ(threads(5, 5), 1u);
  EXPECT_EQ(edgeq::usable_threads(root_, {}), 1u);
}

TEST_F(UsableThreads, RoundsTheQuotaDown) {
  write("/proc/self/cgroup", "0::/");
  const struct {
    const char* cpu_max;
    std::size_t threads;
  } cases[] = {{"150000 100000", 1}, {"200000 100000", 2}, {"299999 100000", 2}, {"50000 100000", 1},
               {"900000 100000", 4}, {"max 100000", 4},    {"100000 0", 4},      {"", 4}};
  for (const auto& [cpu_max, expected] : cases) {
    write("/sys/fs/cgroup/cpu.max", cpu_max);
    EXPECT_EQ(threads(0, 3), expected) << '"' << cpu_max << '"';
  }
}

TEST_F(UsableThreads, TakesTheTightestQuotaOfTheGroupAndThoseAbove) {
  write("/proc/self/cgroup", "0::/user.slice/app.scope");
  write("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000");
  write("/sys/fs/cgroup/user.slice/cpu.max", "300000 100000");
  EXPECT_EQ(threads(0, 7), 3u);
  write("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "100000 50000");
  EXPECT_EQ(threads(0, 7), 2u);
}

TEST_F(UsableThreads, FindsTheQuotaOfAContainerThatSeesItsPathOnTheHost) {
  write("/proc/self/cgroup", "0::/docker/0123456789ab");
  write("/sys/fs/cgroup/cpu.max", "250000 100000");
  EXPECT_EQ(threads(0, 7), 2u);
}

TEST_F(UsableThreads, ReadsTheQuotaOfVersion1) {
  write("/proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/0123456789ab\n0::/");
  write("/sys/fs/cgroup/cpu/docker/0123456789ab/cpu.cfs_quota_us", "350000");
  write("/sys/fs/cgroup/cpu/docker/0123456789ab/cpu.cfs_period_us", "100000");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(threads(0, 7), 3u);
  EXPECT_EQ(threads(0, 1), 2u);
}

TEST_F(UsableThreads, CountsPhysicalCores) {
  set_siblings(0, 1);
  set_siblings(2, 3);
  EXPECT_EQ(threads(0, 3), 2u);
  EXPECT_EQ(threads(1, 2), 2u);
  EXPECT_EQ(threads(0, 1), 1u);
  EXPECT_EQ(threads(0, 7), 6u) << "the siblings of 4 to 7 are not known";
}

TEST_F(UsableThreads, LeavesOutEfficiencyCoresOfAnIntelHybrid) {
  set_siblings(0, 1);
  set_siblings(2, 3);
  for (int cpu = 4; cpu < 8; ++cpu) set_siblings(cpu, cpu);
  write("/sys/devices/cpu_core/cpus", "0-1,2-3");
  write("/sys/devices/cpu_atom/cpus", "4-7");
  EXPECT_EQ(threads(0, 7), 2u);
  EXPECT_EQ(threads(3, 7), 1u);
  EXPECT_EQ(threads(4, 7), 4u) << "the process may use no other core";
}

TEST_F(UsableThreads, LeavesOutLittleCoresByCapacity) {
  const int capacities[] = {280, 280, 280, 280, 870, 870, 870, 1024};  // a phone: little, big, prime
  for (int cpu = 0; cpu < 8; ++cpu) set_cpu(cpu, "cpu_capacity", std::to_string(capacities[cpu]));
  EXPECT_EQ(threads(0, 7), 4u);
  EXPECT_EQ(threads(0, 3), 4u);
  EXPECT_EQ(threads(3, 4), 1u);
}

TEST(DefaultThreadCount, StaysWithinTheAffinity) {
  EXPECT_GE(edgeq::default_thread_count(), 1u);
#if defined(__linux__)
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(edgeq::default_thread_count(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
#endif
}

}
