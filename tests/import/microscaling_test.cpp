// SPDX-License-Identifier: Apache-2.0
// MXFP4 and NVFP4 linears: worked values, special scales, where the scale of all weights goes, and what is
// refused.
#include "edgeq/import/microscaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using microscaling::Tensors;
using microscaling::TensorScale;
using test::Decoded;
using test::expect_decoded;
using test::expect_refused;
using test::TensorStore;

Result<Decoded> mxfp4(const Tensors& tensors) {
  return microscaling::visit_mxfp4(tensors, test::decode);
}
Result<Decoded> nvfp4(const Tensors& tensors, TensorScale use) {
  return microscaling::visit_nvfp4(tensors, use, test::decode);
}

std::vector<std::uint8_t> padded(std::vector<std::uint8_t> bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

// Bytes 21 F7 under 2^3, as gpt-oss packs them: 0.5 * 8, 1 * 8, 6 * 8, -6 * 8.
TEST(MxFp4, GptOssExample) {
  TensorStore store;
  const auto scales = store.bytes("scales", {1, 1}, {0x82});
  const auto blocks = padded({0x21, 0xF7}, 16);
  for (const auto& codes :
       {store.bytes("blocks", {1, 1, 16}, blocks), store.bytes("packed", {1, 16}, blocks)}) {
    const Decoded read = expect_decoded(mxfp4({codes, scales}));
    EXPECT_EQ(read.format, "e2m1 sym g32 e8m0");
    EXPECT_EQ(read.k, 32u);
    EXPECT_EQ(std::vector(read.values.begin(), read.values.begin() + 5),
              (std::vector<float>{4, 8, 48, -48, 0}));
  }
}

// Every code under the smallest scale, whose 2^-127 is a subnormal float, and under the NaN.
TEST(MxFp4, AllCodesUnderSpecialScales) {
  TensorStore store;
  std::vector<std::uint8_t> codes;
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 16; ++i) codes.push_back(static_cast<std::uint8_t>(i | (15 - i) << 4));
  const Decoded read = expect_decoded(mxfp4(
      {store.bytes("c", {3, 16}, codes), store.bytes("s", {3, 1}, {0, 255, 127}, ElementType::f8_e8m0)}));
  constexpr float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::size_t i = 0; i < 16; ++i) {
    const float value = i < 8 ? values[i] : -values[i - 8];
    EXPECT_EQ(read.values[2 * i], std::ldexp(value, -127)) << i;
    EXPECT_TRUE(std::isnan(read.values[32 + 2 * i])) << i;
    EXPECT_EQ(read.values[64 + 2 * i], value) << i;
    EXPECT_EQ(read.values[64 + 31 - 2 * i], value) << "the high nibbles run down";
  }
}

// Scale 1.0, 2.0 for all weights, byte 52: 1 / 2 and 3 / 2. ModelOpt writes the reciprocal.
TEST(NvFp4, CompressedTensorsAndModelOptExample) {
  TensorStore store;
  const auto codes = store.bytes("c", {1, 8}, padded({0x52}, 8));
  const auto scales = store.bytes("s", {1, 1}, {0x38}, ElementType::f8_e4m3);
  const auto global = store.floats("g", ElementType::f32, {1}, {2.0f});
  const auto reciprocal = store.floats("g2", ElementType::f32, {}, {0.5f});
  for (const Result<Decoded>& result : {nvfp4({codes, scales, global}, TensorScale::divides),
                                        nvfp4({codes, scales, reciprocal}, TensorScale::multiplies)}) {
    const Decoded read = expect_decoded(result);
    EXPECT_EQ(read.format, "e2m1 sym g16 e4m3");
    EXPECT_EQ(read.values[0], 0.5f);
    EXPECT_EQ(read.values[1], 1.5f);
  }
}

// A third is no number of 8 bits: the scale becomes the float by which the checkpoint's own library
// multiplies.
TEST(NvFp4, ScalesThatNeedFloats) {
  TensorStore store;
  const auto codes = store.bytes("c", {2, 8}, padded({0x72}, 16));
  const auto scales = store.bytes("s", {2, 1}, {0x38, 0x3F}, ElementType::f8_e4m3);
  const Decoded read = expect_decoded(
      nvfp4({codes, scales, store.floats("g", ElementType::f32, {1}, {3.0f})}, TensorScale::divides));
  EXPECT_EQ(read.format, "e2m1 sym g16 f32");
  EXPECT_EQ(read.values[1], (1.0f / 3.0f) * 6.0f);
  EXPECT_EQ(expect_decoded(nvfp4({codes, scales}, TensorScale::divides)).format, "e2m1 sym g16 e4m3");
}

TEST(Microscaling, RefusesWhatContradictsItself) {
  TensorStore store;
  const auto codes = store.bytes("c", {2, 16}, padded({}, 32)),
             odd = store.bytes("o", {2, 15}, padded({}, 30));
  const auto scales = store.bytes("s", {2, 1}, {1, 1}), short_scales = store.bytes("t", {1, 1}, {1});
  const auto fp8 = store.bytes("f", {2, 2}, {1, 1, 1, 1}, ElementType::f8_e4m3);
  const auto zero = store.floats("z", ElementType::f32, {1}, {0.0f});
  expect_refused(mxfp4({odd, scales}), ErrorCode::invalid_file, {"no multiple of 32"});
  expect_refused(mxfp4({codes, short_scales}), ErrorCode::invalid_file, {"tensor t is U8 [1, 1]"});
  expect_refused(mxfp4({scales, scales}), ErrorCode::invalid_file, {"K = 2"});
  expect_refused(mxfp4({codes, fp8}), ErrorCode::unsupported, {"must be U8 or F8_E8M0"});
  expect_refused(nvfp4({codes, fp8, zero}, TensorScale::divides), ErrorCode::invalid_file, {"tensor z is 0"});
  expect_refused(nvfp4({codes, scales}, TensorScale::divides), ErrorCode::unsupported, {"must be F8_E4M3"});
  CheckpointTensor cut = codes;
  cut.data = cut.data.first(31);
  expect_refused(mxfp4({cut, scales}), ErrorCode::invalid_file, {"has 31 bytes"});
}

// One expert of a layer's, as the caller cuts it out.
TEST(Microscaling, PartsOfTensorsOfMoreDimensions) {
  TensorStore store;
  const auto blocks = store.bytes("b", {2, 1, 1, 16}, [] {
    std::vector<std::uint8_t> bytes(32, 0x11);
    bytes[16] = 0x22;
    return bytes;
  }());
  const auto scales = store.bytes("s", {2, 1, 1}, {127, 128});
  EXPECT_FALSE(mxfp4({blocks, scales}));
  const Decoded read = expect_decoded(mxfp4({blocks.part(1), scales.part(1)}));
  EXPECT_EQ(read.values[0], 2.0f);
  EXPECT_EQ(read.values[2], 1.0f);
}

}
