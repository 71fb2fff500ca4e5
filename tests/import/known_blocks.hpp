// SPDX-License-Identifier: Apache-2.0
// One block of every quantized GGUF type that edgeq reads, and values in it as ggml computes them.
#pragma once
#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "edgeq/import/gguf.hpp"

namespace edgeq::test {

/// The block whose byte i is (37 i + 11) mod 256, but with the f16 fields d = 0.5 and, where the type has
/// one, m or dmin = 0.25; of types with 8-bit scales those first. All of its values are exact in f32.
struct KnownBlock {
  gguf::TensorType type;
  std::optional<std::size_t> d_at;  ///< where d lies
  std::optional<std::size_t> m_at;  ///< where m or dmin lies
  double sum;                       ///< of all elements
  std::vector<std::pair<std::size_t, float>> elements;
  std::vector<std::uint8_t> scales = {};

  std::size_t size() const { return gguf::type_info(type)->block_elements; }
  friend std::ostream& operator<<(std::ostream& out, const KnownBlock& block) {
    return out << gguf::type_info(block.type)->name;
  }
};

/// Worked out from the block layouts by hand and confirmed with ggml's own dequantize_row functions.
inline const std::vector<KnownBlock> known_blocks{
    // clang-format off
    {gguf::TensorType::q4_0, 0, {}, -10.5, {{0, -1.5f}, {1, 1.0f}, {15, -4.0f}, {16, -1.5f}, {31, 0.0f}}},
    {gguf::TensorType::q4_1, 0, 2, 130.5, {{0, 7.75f}, {1, 2.25f}, {15, 5.25f}, {16, 4.75f}, {31, 6.25f}}},
    {gguf::TensorType::q5_0, 0, {}, 7.5, {{0, 4.5f}, {1, -1.0f}, {15, -6.0f}, {16, 7.0f}, {31, 0.5f}}},
    {gguf::TensorType::q5_1, 0, 2, 260.5, {{0, 9.75f}, {1, 12.25f}, {15, 15.25f}, {16, 9.75f}, {31, 2.75f}}},
    {gguf::TensorType::q8_0, 0, {}, -88.0, {{0, 42.5f}, {1, 61.0f}, {15, -64.0f}, {16, -45.5f}, {31, -24.0f}}},
    {gguf::TensorType::q2_k, 80, 82, 1029.5,
     {{0, 16.5f}, {1, 0.0f}, {15, 11.0f}, {16, -0.75f}, {32, 3.75f}, {33, -1.25f}, {63, 3.25f}, {64, 5.25f},
      {127, 21.0f}, {128, 3.75f}, {160, 11.25f}, {200, 4.0f}, {239, -0.25f}, {255, 2.25f}}},
    {gguf::TensorType::q3_k, 108, {}, 479.0,
     {{0, 40.5f}, {1, -54.0f}, {15, -27.0f}, {16, -48.0f}, {31, 32.0f}, {32, -11.0f}, {63, 5.0f}, {64, 17.0f},
      {127, 36.0f}, {128, 1.0f}, {160, 13.0f}, {200, 12.5f}, {239, 6.0f}, {240, -14.0f}, {255, 21.0f}}},
    {gguf::TensorType::q4_k, 0, 2, 27220.0,
     {{0, 157.75f}, {1, -12.75f}, {15, 80.25f}, {32, 4.0f}, {33, 10.0f}, {63, 20.0f}, {64, 210.25f},
      {127, 40.5f}, {128, 211.5f}, {160, 262.5f}, {200, 69.25f}, {239, 9.25f}, {255, 24.25f}}},
    {gguf::TensorType::q5_k, 0, 2, 58108.0,
     {{0, 405.75f}, {1, -12.75f}, {32, 56.0f}, {33, -2.0f}, {63, 40.0f}, {64, 210.25f}, {127, -1.5f},
      {128, 523.5f}, {160, 82.5f}, {200, 69.25f}, {239, 39.25f}, {255, 54.25f}}},
    {gguf::TensorType::q6_k, 208, {}, 2306.0,
     {{0, -715.5f}, {1, 848.0f}, {15, -159.0f}, {16, -216.0f}, {31, -48.0f}, {32, 115.5f}, {33, -336.0f},
      {63, -290.0f}, {64, -1520.0f}, {127, 750.0f}, {128, -175.5f}, {160, 335.5f}, {200, 544.5f}, {240, 65.0f},
      {255, -30.0f}}},
    {gguf::TensorType::tq1_0, 52, {}, -1.0,
     {{0, -0.5f}, {16, 0.0f}, {32, -0.5f}, {33, 0.0f}, {127, -0.5f}, {128, 0.0f}, {160, 0.5f}, {200, 0.0f},
      {239, 0.5f}, {240, 0.5f}, {255, -0.5f}}},
    {gguf::TensorType::tq2_0, 64, {}, 64.5,
     {{0, 1.0f}, {1, -0.5f}, {15, 0.5f}, {33, -0.5f}, {63, 0.0f}, {64, -0.5f}, {127, 0.5f}, {128, 1.0f},
      {160, 0.5f}, {200, 0.0f}, {239, 1.0f}, {255, -0.5f}}},
    {gguf::TensorType::iq4_nl, 0, {}, -128.5, {{0, -17.5f}, {1, 12.5f}, {15, -63.5f}, {16, -17.5f}, {31, 0.5f}}},
    {gguf::TensorType::iq4_xs, 0, {}, -5502.5,
     {{0, 32.5f}, {1, -0.5f}, {15, -44.5f}, {31, 17.5f}, {32, 227.5f}, {33, -3.5f}, {63, -87.5f}, {64, 390.0f},
      {127, 98.0f}, {128, -292.5f}, {160, -455.0f}, {200, 570.0f}, {239, -712.0f}, {240, 176.0f}, {255, -8.0f}}},
    {gguf::TensorType::mxfp4, {}, {}, 25.0, {{0, 0.0f}, {1, 6.0f}, {15, -3.0f}, {16, 3.0f}, {31, 6.0f}}, {0x80}},
    {gguf::TensorType::nvfp4, {}, {}, -4.4892578125,
     {{0, -6.0f}, {1, 2.0f}, {15, -1.0f}, {16, 12.0f}, {31, -4.0f}, {32, -3.0f}, {48, 0.01171875f},
      {63, 0.0009765625f}}, {0x38, 0x40, 0x30, 0x01}},
    // clang-format on
};

/// `count` blocks after `shift` bytes, for odd addresses. The first is the known one; byte i of block b is
/// (37 i + 11 + 59 b) mod 256, so that they differ, and their d and m are small numbers of both signs.
inline std::vector<std::byte> patterned_blocks(const KnownBlock& known, std::size_t count,
                                               std::size_t shift = 0) {
  const std::size_t size = gguf::type_info(known.type)->block_bytes;
  std::vector<std::byte> bytes(shift + count * size);
  for (std::size_t b = 0; b < count; ++b) {
    std::byte* block = bytes.data() + shift + b * size;
    for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<std::byte>(37 * i + 11 + 59 * b);
    const auto set_half = [&](std::size_t at, int exponent) {
      block[at] = static_cast<std::byte>(7 * b);
      block[at + 1] = static_cast<std::byte>(exponent + static_cast<int>(b % 3 * 0x80));
    };
    if (known.d_at) set_half(*known.d_at, 0x38);
    for (std::size_t i = 0; i < known.scales.size(); ++i)
      block[i] = static_cast<std::byte>(known.scales[i] + b % 3);
    if (known.m_at) set_half(*known.m_at, 0x34);
  }
  return bytes;
}

/// A tensor "w" [n, k] over the bytes of its blocks.
inline gguf::Tensor matrix(gguf::TensorType type, std::size_t n, std::size_t k,
                           std::span<const std::byte> data) {
  return {.name = "w", .type = type, .dims = {k, n, 1, 1}, .rank = 2, .data = data};
}

}
