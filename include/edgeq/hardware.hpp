// SPDX-License-Identifier: Apache-2.0
// How many threads this process should run: what its affinity, its container's quota and its fast cores
// allow.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "edgeq/config.hpp"
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace edgeq::inline EDGEQ_BASELINE {

namespace detail {

// The whole of a small file of the kernel; empty if it cannot be read.
inline std::string read_text(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return text;
  char buffer[1024];
  for (std::size_t size; (size = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, size);
  std::fclose(file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Takes the text up to `separator` (all of it if there is none) off the front of `rest`.
inline std::string_view take_field(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return field;
}

// The number that `text` is, or `otherwise`.
inline std::int64_t parse_number(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

// Whether a kernel list such as "0-3,8" holds `cpu`.
inline bool list_holds(std::string_view list, int cpu) {
  while (!list.empty()) {
    std::string_view last = take_field(list, ',');
    const std::string_view first = take_field(last, '-');
    const std::int64_t low = parse_number(first, -1);
    if (low >= 0 && cpu >= low && cpu <= (last.empty() ? low : parse_number(last, -1))) return true;
  }
  return false;
}

inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// Whole processors that `quota` in every `period` (both in microseconds) amounts to: rounded down, because a
// thread that runs out of quota stops all the others at the next join, but at least one.
inline std::size_t processors_of(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return no_limit;
  return static_cast<std::size_t>(std::max<std::int64_t>(1, quota / period));
}

// The tightest quota from the control group `path` up to the root of the hierarchy mounted at `mount`. A
// container may see its path on the host but have its own group mounted as the root: the levels that are not
// there are skipped.
template <class ReadQuota>
std::size_t tightest_quota(const std::string& mount, std::string path, ReadQuota read_quota) {
  std::size_t limit = no_limit;
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    limit = std::min<std::size_t>(limit, read_quota(mount + path));
    if (path.empty()) return limit;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

// The processors that the control groups of this process grant (version 2: cpu.max; version 1: cpu.cfs_*).
inline std::size_t cgroup_limit(const std::string& root) {
  const std::string groups = read_text(root + "/proc/self/cgroup");
  std::string path_v1, path_v2;  // lines are "hierarchy:controllers:path"
  for (std::string_view rest = groups; !rest.empty();) {
    std::string_view path = take_field(rest, '\n');
    const std::string_view hierarchy = take_field(path, ':');
    for (std::string_view controllers = take_field(path, ':'); !controllers.empty();)
      if (take_field(controllers, ',') == "cpu") path_v1 = path;
    if (hierarchy == "0") path_v2 = path;
  }
  const std::size_t limit_v2 =
      tightest_quota(root + "/sys/fs/cgroup", path_v2, [](const std::string& group) -> std::size_t {
        const std::string text = read_text(group + "/cpu.max");  // "150000 100000" or "max 100000"
        std::string_view period = text;
        const std::string_view quota = take_field(period, ' ');
        return processors_of(parse_number(quota, -1), parse_number(period, -1));
      });
  const std::size_t limit_v1 =
      tightest_quota(root + "/sys/fs/cgroup/cpu", path_v1, [](const std::string& group) -> std::size_t {
        return processors_of(parse_number(read_text(group + "/cpu.cfs_quota_us"), -1),
                             parse_number(read_text(group + "/cpu.cfs_period_us"), -1));
      });
  return std::min(limit_v1, limit_v2);
}

// The processors of `cpus` that are performance cores. Shares are equal, so a core of less than half the
// speed makes all the others wait. Intel lists its performance cores; the kernel gives a capacity elsewhere.
// Half of the highest, not the highest itself: a phone has one "prime" core and several big ones, a desktop
// has two favoured cores that clock a little higher. Without either file all are taken.
inline std::vector<int> performance_cores(const std::string& root, std::span<const int> cpus) {
  std::vector<int> fast;
  const std::string intel = read_text(root + "/sys/devices/cpu_core/cpus");
  for (const int cpu : cpus)
    if (list_holds(intel, cpu)) fast.push_back(cpu);
  if (!fast.empty()) return fast;

  std::vector<std::int64_t> capacities;
  for (const int cpu : cpus)
    capacities.push_back(parse_number(
        read_text(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity"), 0));
  const std::int64_t highest =
      capacities.empty() ? 0 : *std::max_element(capacities.begin(), capacities.end());
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (capacities[i] >= highest - highest / 2) fast.push_back(cpus[i]);
  return fast;
}

// How many physical cores `cpus` lie on; a processor whose siblings are not known counts as a core.
inline std::size_t physical_cores(const std::string& root, std::span<const int> cpus) {
  std::vector<std::string> cores;
  for (const int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    const std::string siblings =
        read_text(root + "/sys/devices/system/cpu/" + name + "/topology/thread_siblings_list");
    cores.push_back(siblings.empty() ? name : siblings);
  }
  std::sort(cores.begin(), cores.end());
  return static_cast<std::size_t>(std::unique(cores.begin(), cores.end()) - cores.begin());
}

}

/// The threads worth running on a Linux machine whose files lie below `root` ("" for this one) when the
/// process may use the processors `affinity`: one for each physical performance core, no more than the quota
/// of its control groups, at least one.
inline std::size_t usable_threads(const std::string& root, std::span<const int> affinity) {
  const std::size_t cores = detail::physical_cores(root, detail::performance_cores(root, affinity));
  return std::max<std::size_t>(1, std::min(cores, detail::cgroup_limit(root)));
}

/// The threads worth running in this process, at least one: `usable_threads` of its affinity mask (which the
/// kernel already limits to the cpuset) on Linux, the physical performance cores on macOS, the processors
/// elsewhere.
inline std::size_t default_thread_count() {
#if defined(__linux__)
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    std::vector<int> affinity;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) affinity.push_back(cpu);
    return usable_threads("", affinity);
  }
#elif defined(__APPLE__)
  int cores = 0;
  std::size_t size = sizeof cores;
  if (sysctlbyname("hw.perflevel0.physicalcpu", &cores, &size, nullptr, 0) == 0 && cores > 0)
    return static_cast<std::size_t>(cores);
#endif
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}
