// SPDX-License-Identifier: Apache-2.0
// Two group sizes that no other library has, on the consumer's own threads, against plain C++, to the bit.
#include <cstdio>
#include <edgeq/epilogue/epilogue.hpp>
#include <edgeq/linear.hpp>
#include <thread>
#include <vector>
#if defined(CONSUMER_HAS_checkpoint)
#include <edgeq/import/safetensors.hpp>
#endif

#include "support/integer_model.hpp"

namespace {

struct Threads {
  std::size_t concurrency() const { return 3; }
  template <class Task>
  void run(std::size_t tasks, const Task& task) const {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < tasks; ++i) threads.emplace_back([&task, i] { task(i); });
  }
};

template <int Group, class Activation>
bool check(std::size_t m, int limit) {
  const integer_model::Problem p(m, 53, 301, Group);
  std::vector<edgeq::BFloat16> scales;
  for (const std::uint16_t bits : p.scales) scales.push_back({bits});
  const auto layer = edgeq::Linear<edgeq::Int4<Group>, Activation>::pack(
      {.n = p.n, .k = p.k, .codes = p.codes, .scales = scales}, std::span<const float>(p.bias), Threads{});
  if (!layer) {
    std::printf("%s\n", layer.error().message.c_str());
    return false;
  }
  std::vector<float> y(p.m * p.n);
  edgeq::Prepared prepared;
  if (!layer->prepare(prepared, {p.x.data(), p.m, p.k}, Threads{})) return false;
  layer->run(prepared, {y.data(), p.m, p.n}, Threads{});
  const bool same = integer_model::hash(y) == integer_model::hash(integer_model::multiply(p, limit));
  std::printf("%s: %s", same ? "exact" : "WRONG", layer->plan(m).to_string().c_str());
  return same;
}

// The smallest file is read, and no bytes at all are refused.
bool check_container() {
#if defined(CONSUMER_HAS_checkpoint)
  const std::byte smallest[] = {std::byte{2}, {}, {}, {}, {}, {}, {}, {}, std::byte{'{'}, std::byte{'}'}};
  return edgeq::safetensors::File::parse(smallest).ok() && !edgeq::safetensors::File::parse({}).ok();
#else
  return true;
#endif
}

}

int main() {
  bool good = check_container();
  for (const std::size_t m : {1, 5}) {
    good &= check<48, edgeq::DynamicInt16>(m, 32512);
    good &= check<20, edgeq::DynamicInt8>(m, 127);
  }
  return good ? 0 : 1;
}
