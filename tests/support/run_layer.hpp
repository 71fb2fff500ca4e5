// SPDX-License-Identifier: Apache-2.0
// Runs a layer on each kernel of its table that this machine has, and watches what it writes.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "edgeq/linear.hpp"

namespace test {

/// Every ISA that edgeq may have a kernel for, by the names that AnyLinear::only takes.
inline constexpr const char* isa_names[] = {"amx_int8", "amx_bf16", "avx512_bf16",  "avx512_vnni",
                                            "avx_vnni", "avx2",     "neon_dotprod", "neon",
                                            "highway",  "generic"};

/// Says once for each ISA why none of its kernels runs.
inline void announce_skipped(const char* name, const std::string& reason) {
  static std::set<std::string> announced;
  if (announced.insert(name).second) std::printf("[ SKIPPED  ] kernels of %s: %s\n", name, reason.c_str());
}

/// Calls body(layer on one kernel, its name) for each kernel of the layer's table that runs here, and names
/// the others once on the output. Fails if the fallback is among them.
template <class Body>
void for_each_kernel(const edgeq::AnyLinear& layer, const Body& body) {
  bool fallback = false;
  for (const char* name : isa_names) {
    const auto kernel = layer.only(name);
    if (!kernel) {
      announce_skipped(name, kernel.error().message);
      continue;
    }
    SCOPED_TRACE(std::string(name) + ", " + kernel->format() + " x " + kernel->activation());
    body(*kernel, name);
    fallback = fallback || std::string(name) == "generic";
  }
  EXPECT_TRUE(fallback) << "the generic kernel must run everywhere";
}

/// `count` tasks one after the other, last first: the split of work of `count` threads, without their cost.
struct LastTaskFirst {
  std::size_t count = 3;
  std::size_t concurrency() const noexcept { return count; }
  template <class Task>
  void run(std::size_t tasks, const Task& task) const noexcept {
    while (tasks-- > 0) task(tasks);
  }
};

/// A NaN that no arithmetic makes; of 16 bits a signalling one, which no rounding of a float makes.
template <edgeq::StoredFloat T>
T unwritten_value() {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(0x7FC0BEEFu);
  else
    return T{static_cast<std::uint16_t>(std::is_same_v<T, edgeq::Float16> ? 0x7DAB : 0x7FAB)};
}
template <edgeq::StoredFloat T>
bool is_unwritten(T value) {
  const T pattern = unwritten_value<T>();
  return std::memcmp(&value, &pattern, sizeof(T)) == 0;
}

/// y [M, N], dense, of x [M, K], as elements of Y. y lies with a stride of N + 3 in memory full of
/// unwritten_value; every element must be written and nothing between the rows.
template <edgeq::StoredFloat Y, edgeq::StoredFloat X, class E = edgeq::InlineExecutor>
std::vector<Y> run_layer_as(const edgeq::AnyLinear& layer, edgeq::MatrixView<const X> x,
                            const E& executor = {}) {
  const std::size_t m = x.rows, n = layer.n(), stride = n + 3;
  std::vector<Y> memory(m * stride + 3, unwritten_value<Y>());
  edgeq::Prepared prepared;
  const auto status = layer.prepare(prepared, x, executor);
  EXPECT_TRUE(status) << status.error().message;
  layer.run(prepared, edgeq::MatrixView<Y>(memory.data() + 3, m, n, stride), executor);

  std::vector<Y> y;
  std::size_t missing = 0, stray = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const bool inside = i >= 3 && (i - 3) % stride < n;
    if (inside) y.push_back(memory[i]);
    (inside ? missing : stray) += inside == is_unwritten(memory[i]);
  }
  EXPECT_EQ(missing, 0u) << "elements of y not written";
  EXPECT_EQ(stray, 0u) << "elements written between rows of y";
  return y;
}

/// The same of floats, x [M, K] dense.
template <class E = edgeq::InlineExecutor>
std::vector<float> run_layer(const edgeq::AnyLinear& layer, const float* x, std::size_t m,
                             const E& executor = {}) {
  return run_layer_as<float>(layer, edgeq::MatrixView<const float>(x, m, layer.k()), executor);
}

/// The same float: equal bits, or both NaN, whose payload the contract leaves open.
inline bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (a != a && b != b);
}

/// The same number, whatever the sign of a zero, or both NaN.
inline bool equal_or_nan(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Compares y [M, N] with the leading part of a wider `expected` [.., columns]; reports the first difference.
inline void expect_same(const std::vector<float>& y, std::size_t m, std::size_t n,
                        const std::vector<float>& expected, std::size_t columns) {
  ASSERT_EQ(y.size(), m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const float found = y[i * n + j], wanted = expected[i * columns + j];
      ASSERT_TRUE(same(found, wanted))
          << "y[" << i << ", " << j << "] is " << std::hexfloat << found << ", not " << wanted
          << std::defaultfloat << ", of [" << m << ", " << n << "]";
    }
}

inline void expect_same(const std::vector<float>& y, const std::vector<float>& expected) {
  expect_same(y, 1, y.size(), expected, expected.size());
  EXPECT_EQ(y.size(), expected.size());
}

/// Packs, or fails the test with the reason.
template <class F, class... Activations>
edgeq::AnyLinear pack(const typename F::View& view, const std::vector<float>& bias = {},
                      edgeq::CpuFeatures cpu = edgeq::CpuFeatures::detect()) {
  auto layer = edgeq::AnyLinear::pack<F, edgeq::ActivationList<Activations...>>(
      view, edgeq::Bias(std::span<const float>(bias)), edgeq::InlineExecutor{}, cpu);
  if (!layer) ADD_FAILURE() << layer.error().message;
  return std::move(*layer);
}

}
