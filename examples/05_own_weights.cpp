// SPDX-License-Identifier: Apache-2.0
// Weights that do not lie in memory as a View: a source hands out rows, one at a time, in bounded memory.
#include <cmath>
#include <cstdio>
#include <vector>

#include "edgeq/linear.hpp"

/// A float matrix, rounded to int8 per channel while it is packed: code = round(w / scale) + 128.
struct RoundedToInt8 {
  using Format = edgeq::Int8<edgeq::per_channel, float>;
  std::size_t n, k;
  const float* weights;  // [N, K]

  edgeq::WeightShape shape() const { return {n, k, k}; }
  edgeq::Status validate() const { return edgeq::success(); }
  void read(std::size_t row, std::size_t r, Format::Rows& rows) const noexcept {
    float largest = 0;
    for (std::size_t i = 0; i < k; ++i) largest = std::fmax(largest, std::fabs(weights[row * k + i]));
    const float scale = largest / 127.0f;
    rows.scales[r * rows.groups] = scale;
    for (std::size_t i = 0; i < k; ++i)
      rows.codes[r * k + i] =
          static_cast<std::uint8_t>(scale == 0 ? 128 : std::lround(weights[row * k + i] / scale) + 128);
  }
};

int main() {
  constexpr std::size_t N = 10, K = 100;
  std::vector<float> weights(N * K), row(K);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i));
  auto layer = edgeq::Linear<RoundedToInt8::Format>::pack_from(RoundedToInt8{N, K, weights.data()});
  if (!layer) return std::fprintf(stderr, "%s\n", layer.error().message.c_str()), 1;

  layer->dequantize_row(7, row.data());  // what the kernels multiply by
  float worst = 0;
  for (std::size_t i = 0; i < K; ++i) worst = std::fmax(worst, std::fabs(row[i] - weights[7 * K + i]));
  std::printf("%s: largest rounding error of row 7 is %.4f\n", layer->format().c_str(),
              static_cast<double>(worst));
}
