// SPDX-License-Identifier: Apache-2.0
// A matrix of more than 2^32 codes, more than 2^31 packed bytes: its last row is right. Takes most of a
// minute and 2.2 GB, so it runs only if EDGEQ_SLOW_TESTS is set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "edgeq/thread_pool.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;

using F = Int4<128, BFloat16>;
constexpr std::size_t rows = 65537, depth = 65536;

// All scales 0 but those of the last row, whose weights are 1.
struct LastRowOnly {
  WeightShape shape() const { return {rows, depth, 128}; }
  Status validate() const { return success(); }
  void read(std::size_t n, std::size_t r, F::Rows& block) const noexcept {
    std::fill_n(block.codes.begin() + static_cast<std::ptrdiff_t>(r * depth), depth, std::uint8_t{9});
    if (n != rows - 1) return;
    for (std::size_t g = 0; g < block.groups; ++g)
      block.scales[r * block.groups + g] = from_float<BFloat16>(1.0f);
  }
};

TEST(LargeMatrix, LastRowIsRight) {
  if (std::getenv("EDGEQ_SLOW_TESTS") == nullptr) GTEST_SKIP() << "slow: set EDGEQ_SLOW_TESTS to run it";
  const ThreadPool pool(2);
  auto layer = AnyLinear::pack<F, ActivationList<DynamicInt8, DynamicInt16, F32>>(LastRowOnly{}, {}, pool);
  if (!layer) GTEST_SKIP() << layer.error().message;
  ASSERT_GT(layer->weight().geometry().packed_bytes(), std::size_t{1} << 31);
  // x = the largest code of each activation, whose scale is 1: y is an exact integer, below 2^24 times 2^8.
  const struct {
    const char* activation;
    float x;
  } cases[] = {{"int8", 127.0f}, {"int16", 32512.0f}, {"f32", 1.0f}};
  for (const auto& c : cases) {
    const std::vector<float> x(depth, c.x);
    test::for_each_kernel(*layer->with(c.activation), [&](const AnyLinear& kernel, const char*) {
      const auto y = test::run_layer(kernel, x.data(), 1, pool);
      EXPECT_EQ(y[rows - 1], c.x * 65536.0f);
      EXPECT_EQ(std::count(y.begin(), y.end() - 1, 0.0f), static_cast<std::ptrdiff_t>(rows - 1));
    });
  }
  std::vector<float> row(depth);
  layer->dequantize_row(rows - 1, row.data());
  EXPECT_EQ(std::count(row.begin(), row.end(), 1.0f), static_cast<std::ptrdiff_t>(depth));
}

}
