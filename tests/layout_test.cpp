// SPDX-License-Identifier: Apache-2.0
// The packed layout: bytes at the places that the documentation names, every weight found again, sizes known
// before and impossible ones refused.
#include <gtest/gtest.h>

#include "edgeq/layout/packed_weight.hpp"
#include "edgeq/linear.hpp"
#include "support/run_layer.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;

template <class F, class Source>
Result<PackedWeight> packed(const Source& source, const Bias& bias = {}) {
  return PackedWeight::pack<F>(source, bias, InlineExecutor{});
}

// Element [n, k] of the definition decode(), of the packed form, and of the test's own arithmetic.
template <class F>
void expect_weights_found_again(std::size_t dynamic, std::initializer_list<std::size_t> depths) {
  for (const std::size_t n : {1u, 16u, 37u})
    for (const std::size_t k : depths) {
      const auto weights = test::random_weights<F>(n, k, dynamic, k + n);
      const auto view = weights.view();
      const auto panels = packed<F>(view);
      ASSERT_TRUE(panels) << panels.error().message;
      std::vector<float> row(k + 1, test::unwritten_value<float>());
      for (std::size_t i = 0; i < n; ++i) {
        panels->template unpack_row<F>(i, row.data());
        for (std::size_t j = 0; j < k; ++j) {
          ASSERT_EQ(F::decode(view, i, j), weights.value(i, j))
              << F::name() << " decode [" << i << ", " << j << "]";
          ASSERT_TRUE(test::same(row[j], F::decode(view, i, j)))
              << F::name() << " [" << i << ", " << j << "]";
        }
        ASSERT_TRUE(test::is_unwritten(row[k])) << "more than K floats written";
      }
    }
}

template <template <int, class> class Format, class Scale>
void expect_groups_found_again() {
  expect_weights_found_again<Format<1, Scale>>(0, {1, 5});
  expect_weights_found_again<Format<8, Scale>>(0, {1, 8, 61});
  expect_weights_found_again<Format<20, Scale>>(0, {19, 20, 41, 87});
  expect_weights_found_again<Format<640, Scale>>(0, {641});
  expect_weights_found_again<Format<per_channel, Scale>>(0, {1, 33});
  expect_weights_found_again<Format<per_tensor, Scale>>(0, {1, 33});
  expect_weights_found_again<Format<dynamic_group, Scale>>(7, {6, 7, 50});
  expect_weights_found_again<Format<dynamic_group, Scale>>(1000, {50});
}
template <template <int, class> class Format>
void expect_scales_found_again() {
  expect_groups_found_again<Format, BFloat16>();
  expect_groups_found_again<Format, Float16>();
  expect_groups_found_again<Format, float>();
}
template <int G, class S>
using Sym4 = Int4<G, S>;
template <int G, class S>
using Zero4 = Int4Zero<G, S>;
template <int G, class S>
using Min4 = Int4Min<G, S>;
template <int G, class S>
using Sym8 = Int8<G, S>;
template <int G, class S>
using Zero8 = Int8Zero<G, S>;
template <int G, class S>
using Min8 = Int8Min<G, S>;

TEST(Layout, FindsEveryWeightAgain) {
  expect_scales_found_again<Sym4>();
  expect_scales_found_again<Zero4>();
  expect_scales_found_again<Min4>();
  expect_scales_found_again<Sym8>();
  expect_scales_found_again<Zero8>();
  expect_scales_found_again<Min8>();
  expect_weights_found_again<F32Weight>(0, {1, 33});
  expect_weights_found_again<F16Weight>(0, {1, 33});
  expect_weights_found_again<Bf16Weight>(0, {1, 33});
}

TEST(Layout, DequantizedRowOfALayerIsDecode) {
  using F = Int4Min<20, Float16>;
  const auto weights = test::random_weights<F>(33, 47, 0, 1);
  const auto view = weights.view();
  const AnyLinear layer = test::pack<F, F32>(view);
  std::vector<float> row(47);
  for (std::size_t n = 0; n < 33; ++n) {
    layer.dequantize_row(n, row.data());
    for (std::size_t k = 0; k < 47; ++k) EXPECT_EQ(row[k], F::decode(view, n, k));
  }
}

/// A scalar of a panel, whose bytes have the machine's order.
template <class T>
T scalar_at(const std::uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// Two groups of 12 k of 4-bit codes, code(n, k) = (n + k) mod 16, are one record: two headers of 32 bytes,
// then two lines for each group. Byte (k8, column, i) = code(8 k8 + i) | code(8 k8 + i + 4) << 4.
TEST(Layout, BytesOfNibbles) {
  using F = Int4<12, BFloat16>;
  test::Weights<F> weights(17, 24);
  for (std::size_t n = 0; n < 17; ++n)
    for (std::size_t k = 0; k < 24; ++k) weights.set_code(n, k, static_cast<int>((n + k) % 16));
  for (std::size_t i = 0; i < weights.scales.size(); ++i)
    weights.scales[i].bits = static_cast<std::uint16_t>(0x4000 + i);
  const auto panels = packed<F>(weights.view());
  ASSERT_TRUE(panels);
  EXPECT_EQ(panels->geometry().panel_bytes, 320u);
  EXPECT_EQ(panels->geometry().packed_bytes(), 640u);
  const std::uint8_t* p = panels->panels();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
  // Scales: row 0 has 4000 and 4001, row 1 has 4002 and 4003.
  EXPECT_EQ(scalar_at<std::uint16_t>(p), 0x4000);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 2), 0x4002);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 32), 0x4001);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 32 + 2), 0x4003);
  // Column 0, k 0..7: codes 0..7.
  EXPECT_EQ(p[64 + 0], 0x40);
  EXPECT_EQ(p[64 + 1], 0x51);
  EXPECT_EQ(p[64 + 2], 0x62);
  EXPECT_EQ(p[64 + 3], 0x73);
  // Column 9: codes 9..15, 0.
  EXPECT_EQ(p[64 + 4 * 9 + 0], 0xD9);
  EXPECT_EQ(p[64 + 4 * 9 + 3], 0x0C);
  // Column 1, k 8..11: codes 9..12; k 12..15 lie beyond the group.
  EXPECT_EQ(p[128 + 4 + 0], 0x09);
  EXPECT_EQ(p[128 + 4 + 3], 0x0C);
  // Second group, column 0: k = 12 and 16 are codes 12 and 0.
  EXPECT_EQ(p[192], 0x0C);
  // Second panel: row 16 alone, like row 0; its columns 1..15 are zero bytes.
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 320), 0x4020);
  EXPECT_EQ(p[320 + 64], 0x40);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_TRUE(i % 64 < 4 || p[320 + 64 + i] == 0) << "line byte " << i;
  for (std::size_t i = 0; i < 64; ++i) EXPECT_TRUE(i % 32 < 2 || p[320 + i] == 0) << "scale byte " << i;
}

// The header of a group: scales [16], then minima or zeros [16]. With zeros of one byte four headers fill
// cache lines, 4 * (64 + 16) bytes, whether the groups exist or not. Lines of 16 columns x 4 k follow.
TEST(Layout, BytesOfBytesAndHeaders) {
  using Z = Int8Zero<8, float>;
  test::Weights<Z> zeros(2, 8);
  for (std::size_t k = 0; k < 8; ++k) zeros.set_code(1, k, static_cast<int>(0x50 + k));
  zeros.scales = {1.0f, 2.0f};
  zeros.zeros = {0x11, 0x22};
  const auto with_zeros = packed<Z>(zeros.view());
  ASSERT_TRUE(with_zeros);
  EXPECT_EQ(with_zeros->geometry().panel_bytes, 4u * 80 + 2 * 64);
  const std::uint8_t* p = with_zeros->panels();
  EXPECT_EQ(scalar_at<float>(p + 4), 2.0f);
  EXPECT_EQ(p[64], 0x11);
  EXPECT_EQ(p[65], 0x22);
  EXPECT_EQ(p[320 + 4], 0x50);
  EXPECT_EQ(p[320 + 4 + 3], 0x53);
  EXPECT_EQ(p[320 + 64 + 4], 0x54);

  using M = Int8Min<8, Float16>;
  test::Weights<M> minima(2, 16);
  minima.scales = {{0x1234}, {0x1235}, {0x2345}, {0x2346}};
  minima.minima = {{0x3456}, {0x3457}, {0x4567}, {0x4568}};
  minima.set_code(1, 8, 0x77);
  const auto with_minima = packed<M>(minima.view());
  ASSERT_TRUE(with_minima);
  EXPECT_EQ(with_minima->geometry().panel_bytes, 2u * (64 + 2 * 64));
  p = with_minima->panels();
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 2), 0x2345);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 32), 0x3456);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 34), 0x4567);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 192 + 2), 0x2346);
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 192 + 32), 0x3457);
  EXPECT_EQ(p[192 + 64 + 4], 0x77);
}

// Lines of 2 k of 16 bits, and of 1 k of 32 bits.
TEST(Layout, BytesOfFloats) {
  const std::vector<BFloat16> halves = {{0x0102}, {0x0304}, {0x0506}, {0x0708}, {0x090A}, {0x0B0C}};
  const auto bf16 = packed<Bf16Weight>(FloatView<BFloat16>{2, 3, halves});
  ASSERT_TRUE(bf16);
  const std::uint8_t* p = bf16->panels();
  EXPECT_EQ(bf16->geometry().packed_bytes(), 128u);
  EXPECT_EQ(scalar_at<std::uint16_t>(p), 0x0102);       // W[0, 0]
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 2), 0x0304);   // W[0, 1]
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 4), 0x0708);   // W[1, 0]
  EXPECT_EQ(scalar_at<std::uint16_t>(p + 64), 0x0506);  // W[0, 2]

  const std::vector<float> words = {1.0f, 2.0f, 3.0f, 4.0f};
  const auto f32 = packed<F32Weight>(FloatView<float>{2, 2, words});
  ASSERT_TRUE(f32);
  EXPECT_EQ(f32->geometry().packed_bytes(), 128u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(scalar_at<float>(f32->panels() + i % 2 * 64 + i / 2 * 4), words[i]);
}

constexpr bool is_64_bit = sizeof(std::size_t) > 4;

TEST(Layout, SizesAreKnownBeforePacking) {
  const auto bytes = [](const auto& geometry) { return geometry ? geometry->packed_bytes() : 0; };
  // 2 panels; two headers of 32 bytes, 16 lines, and one line for the 2 k of the last group.
  EXPECT_EQ(bytes(PanelGeometry::of<Int4<128>>({17, 130, 128})), 2u * (64 + 17 * 64));
  // A group larger than K has K's size: 5 k in one line, after room for two headers.
  EXPECT_EQ(bytes(PanelGeometry::of<Int4<128>>({1, 5, 128})), 128u);
  EXPECT_EQ(bytes(PanelGeometry::of<Int4<128>>({0, 128, 128})), 0u);
  EXPECT_EQ(bytes(PanelGeometry::of<Int4<128>>({5, 0, 128})), 0u);
  // 65537 rows of 65536 codes: 4097 panels of 256 records of two groups, beyond 2^31.
  EXPECT_EQ(bytes(PanelGeometry::of<Int4<128>>({65537, 65536, 128})),
            is_64_bit ? std::uint64_t{4097} * 256 * (64 + 32 * 64) : 0);
}

TEST(Layout, ImpossibleSizesAreRefused) {
  constexpr std::size_t huge = SIZE_MAX / 4 + 1;
  const char *beyond = is_64_bit ? "2^40" : "2^22", *exceed = is_64_bit ? "2^47" : "2^31";
  constexpr std::size_t largest = std::size_t{1} << PanelGeometry::extent_bits;
  const auto expect_refused = [](const auto& result, ErrorCode code, const char* words) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code);
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  };
  expect_refused(PanelGeometry::of<Int4<128>>({huge, 1, 128}), ErrorCode::too_large, beyond);
  expect_refused(PanelGeometry::of<Int4<128>>({largest + 1, 1, 128}), ErrorCode::too_large, beyond);
  expect_refused(PanelGeometry::of<Int4<128>>({1, SIZE_MAX, 128}), ErrorCode::too_large, beyond);
  expect_refused(PanelGeometry::of<Int4<1, float>>({largest, largest, 1}), ErrorCode::too_large, exceed);
  expect_refused(PanelGeometry::of<F32Weight>({largest >> 10, largest >> 2, 1}), ErrorCode::too_large,
                 exceed);
  expect_refused(PanelGeometry::of<Int4<dynamic_group>>({16, 16, 0}), ErrorCode::invalid_argument,
                 "group size is 0");
  // Products that wrap to 0, which is the size of the empty spans.
  expect_refused(packed<Int8<32>>(Int8<32>::View{huge, 4, {}, {}}), ErrorCode::too_large, "N x K");
  expect_refused(packed<F32Weight>(FloatView<float>{huge, 4, {}}), ErrorCode::too_large, "N x K");
}

TEST(Layout, PreparedRowsThatWrapAreRefused) {
  Prepared prepared;
  PreparedLayout layout;
  layout.row_bytes = 64;
  layout.row_multiple = 2;
  EXPECT_FALSE(prepared.resize(SIZE_MAX, layout));
  EXPECT_FALSE(prepared.resize(SIZE_MAX / 64 + 2, layout));
  EXPECT_TRUE(prepared.resize(3, layout));
  EXPECT_EQ(prepared.rows(), 3u);
}

}
