// SPDX-License-Identifier: Apache-2.0
// What the GGUF reader returns for well-formed files, and what it tolerates.
#include "edgeq/import/gguf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gguf_writer.hpp"

namespace edgeq {
namespace {

using gguf::File;
using gguf::TensorType;
using gguf::ValueType;
using test::from_hex;
using test::GgufWriter;
using test::pattern;
using Bytes = std::vector<std::byte>;

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// One entry of every value type and four tensors, the last of which ends 30 bytes before the file does.
GgufWriter rich_file() {
  GgufWriter writer;
  writer.add("u8", std::uint8_t{200});
  writer.add("i8", std::int8_t{-100});
  writer.add("u16", std::uint16_t{60000});
  writer.add("i16", std::int16_t{-30000});
  writer.add("u32", std::uint32_t{4000000000});
  writer.add("i32", std::int32_t{-2000000000});
  writer.add("u64", std::numeric_limits<std::uint64_t>::max());
  writer.add("i64", std::numeric_limits<std::int64_t>::min());
  writer.add("f32", 0.5f);
  writer.add("f64", 0.1);
  writer.add("bool", true);
  writer.add("string", std::string_view("a\0b", 3));
  writer.add_array<std::string_view>("strings", {"one", "", "three"});
  writer.add_array("f32s", {1.5f, -2.5f});
  writer.add_array<std::uint16_t>("u16s", {1, 65535});
  writer.add_array<std::int8_t>("i8s", {-1, 127});
  writer.add_array<std::uint64_t>("u64s", {1, std::numeric_limits<std::uint64_t>::max()});
  writer.add_array<std::string_view>("no strings", {});
  writer.add_tensor("matrix", TensorType::q8_0, {64, 3}, pattern(6 * 34));
  writer.add_tensor("norm", TensorType::f32, {5}, pattern(20));
  writer.add_tensor("cube", TensorType::bf16, {2, 3, 4, 5}, pattern(240));
  writer.add_tensor("last", TensorType::q4_k, {256, 1}, pattern(144));
  return writer;
}

void expect_rich_file(const File& file) {
  EXPECT_EQ(file.metadata().size(), 18u);
  EXPECT_EQ(file.find("u8")->as_u64(), 200u);
  EXPECT_EQ(file.find("i8")->as_i64(), -100);
  EXPECT_EQ(file.find("u16")->as_i64(), 60000);
  EXPECT_EQ(file.find("i16")->as_i64(), -30000);
  EXPECT_EQ(file.find("u32")->as_u64(), 4000000000u);
  EXPECT_EQ(file.find("i32")->as_i64(), -2000000000);
  EXPECT_EQ(file.find("u64")->as_u64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(file.find("i64")->as_i64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(file.find("f32")->as_f64(), 0.5);
  EXPECT_EQ(file.find("f64")->as_f64(), 0.1);
  EXPECT_EQ(file.find("bool")->as_bool(), true);
  EXPECT_EQ(file.find("string")->as_string(), std::string_view("a\0b", 3));
  EXPECT_EQ(file.find("strings")->as_strings(), (std::vector<std::string_view>{"one", "", "three"}));
  EXPECT_EQ(file.find("f32s")->as_f32s(), (std::vector{1.5f, -2.5f}));
  EXPECT_EQ(file.find("u16s")->as_i64s(), (std::vector<std::int64_t>{1, 65535}));
  EXPECT_EQ(file.find("i8s")->as_i64s(), (std::vector<std::int64_t>{-1, 127}));
  EXPECT_EQ(file.find("no strings")->as_strings(), std::vector<std::string_view>{});

  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.tensors()[1].name, "norm");
  EXPECT_TRUE(equal(file.tensor("matrix")->data, pattern(6 * 34)));
  EXPECT_TRUE(equal(file.tensor("norm")->data, pattern(20)));
  EXPECT_TRUE(equal(file.tensor("cube")->data, pattern(240)));
  EXPECT_TRUE(equal(file.tensor("last")->data, pattern(144)));
  EXPECT_EQ(file.tensor("cube")->type, TensorType::bf16);
  EXPECT_EQ(file.tensor("cube")->rank, 4u);
  EXPECT_EQ(file.tensor("cube")->columns(), 2u);
  EXPECT_EQ(file.tensor("cube")->rows(), 60u);
  EXPECT_EQ(file.tensor("norm")->rows(), 1u);
  EXPECT_EQ(file.tensor("none"), nullptr);
  EXPECT_EQ(file.find("none"), nullptr);
}

TEST(Gguf, ReadsAFileWrittenByHand) {
  Bytes bytes = from_hex(
      "47475546 03000000 0100000000000000 0100000000000000 1100000000000000 "
      "67656e6572616c2e616c69676e6d656e74 04000000 20000000 0100000000000000 77 02000000 2000000000000000 "
      "0100000000000000 08000000 0000000000000000");
  ASSERT_EQ(bytes.size(), 98u);
  bytes.resize(128);
  const Bytes block = pattern(34);
  bytes.insert(bytes.end(), block.begin(), block.end());

  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->metadata().size(), 1u);
  EXPECT_EQ(file->metadata()[0].key, "general.alignment");
  EXPECT_EQ(file->metadata()[0].value.as_u64(), 32u);
  const gguf::Tensor* tensor = file->tensor("w");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->type, TensorType::q8_0);
  EXPECT_EQ(tensor->rank, 2u);
  EXPECT_EQ(tensor->columns(), 32u);
  EXPECT_EQ(tensor->rows(), 1u);
  EXPECT_EQ(tensor->data.data(), bytes.data() + 128);
  EXPECT_EQ(tensor->data.size(), 34u);

  GgufWriter writer;
  writer.add_alignment(32);
  writer.add_tensor("w", TensorType::q8_0, {32, 1}, block);
  writer.pad_last_tensor = false;
  EXPECT_EQ(writer.bytes(), bytes);
}

TEST(Gguf, ReadsEveryValueTypeAndTensor) {
  const Bytes bytes = rich_file().bytes();
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_rich_file(*file);
}

TEST(Gguf, ReadsFromEveryAddress) {
  const Bytes bytes = rich_file().bytes();
  for (std::size_t shift = 1; shift < 8; ++shift) {
    Bytes shifted(shift);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    const auto file = File::parse(std::span(shifted).subspan(shift));
    ASSERT_TRUE(file.ok()) << file.error().message;
    expect_rich_file(*file);
  }
}

TEST(Gguf, AccessorsRefuseOtherTypesAndValuesOutOfRange) {
  const Bytes bytes = rich_file().bytes();
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find("i8")->as_u64(), std::nullopt);
  EXPECT_EQ(file->find("i64")->as_u64(), std::nullopt);
  EXPECT_EQ(file->find("u64")->as_i64(), std::nullopt);
  EXPECT_EQ(file->find("u64s")->as_i64s(), std::nullopt);
  for (const auto& [key, value] : file->metadata()) {
    const ValueType type = value.type();
    EXPECT_EQ(value.as_u64() || value.as_i64(), gguf::detail::is_integer(type)) << key;
    EXPECT_EQ(value.as_f64().has_value(), type == ValueType::f32 || type == ValueType::f64) << key;
    EXPECT_EQ(value.as_bool().has_value(), type == ValueType::boolean) << key;
    EXPECT_EQ(value.as_string().has_value(), type == ValueType::string) << key;
    EXPECT_EQ(value.array_size().has_value(), type == ValueType::array) << key;
    EXPECT_EQ(value.element_type().has_value(), type == ValueType::array) << key;
    const auto element = value.element_type();
    EXPECT_EQ(value.as_strings().has_value(), element == ValueType::string) << key;
    EXPECT_EQ(value.as_f32s().has_value(), element == ValueType::f32) << key;
    EXPECT_EQ(value.as_i64s().has_value(), element && gguf::detail::is_integer(*element) && key != "u64s")
        << key;
  }
  EXPECT_EQ(file->find("strings")->array_size(), 3u);
  EXPECT_EQ(file->find("i8s")->element_type(), ValueType::i8);
}

TEST(Gguf, FindsEachOfManyNames) {
  GgufWriter writer;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    writer.add("key " + std::to_string(i * 7919 % 1000), i);
    writer.add_tensor("tensor " + std::to_string(i * 7919 % 1000), TensorType::i8, {1}, pattern(1));
  }
  const Bytes bytes = writer.bytes();
  auto parsed = File::parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const File file = std::move(*parsed);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(file.metadata()[i].value.as_u64(), i);
    EXPECT_EQ(file.find(file.metadata()[i].key), &file.metadata()[i].value);
    EXPECT_EQ(file.tensor(file.tensors()[i].name), &file.tensors()[i]);
  }
  EXPECT_EQ(file.find("key 1000"), nullptr);
  EXPECT_EQ(file.find("key"), nullptr);
}

TEST(Gguf, BlockSizesOfEveryTensorType) {
  struct Row {
    std::uint32_t id;
    std::string_view name;
    std::size_t block_elements, block_bytes;
  };
  // clang-format off
  constexpr std::array<Row, 35> rows{{
      {0, "F32", 1, 4}, {1, "F16", 1, 2}, {2, "Q4_0", 32, 18}, {3, "Q4_1", 32, 20}, {6, "Q5_0", 32, 22},
      {7, "Q5_1", 32, 24}, {8, "Q8_0", 32, 34}, {9, "Q8_1", 32, 36}, {10, "Q2_K", 256, 84},
      {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210},
      {15, "Q8_K", 256, 292}, {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74}, {18, "IQ3_XXS", 256, 98},
      {19, "IQ1_S", 256, 50}, {20, "IQ4_NL", 32, 18}, {21, "IQ3_S", 256, 110}, {22, "IQ2_S", 256, 82},
      {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1}, {25, "I16", 1, 2}, {26, "I32", 1, 4}, {27, "I64", 1, 8},
      {28, "F64", 1, 8}, {29, "IQ1_M", 256, 56}, {30, "BF16", 1, 2}, {34, "TQ1_0", 256, 54},
      {35, "TQ2_0", 256, 66}, {39, "MXFP4", 32, 17}, {40, "NVFP4", 64, 36}, {41, "Q1_0", 128, 18},
      {42, "Q2_0", 64, 18},
  }};
  // clang-format on
  std::size_t row = 0;
  for (std::uint32_t id = 0; id < 100; ++id) {
    const gguf::TypeInfo* info = gguf::type_info(TensorType{id});
    if (row == rows.size() || rows[row].id != id) {
      EXPECT_EQ(info, nullptr) << id;
      continue;
    }
    ASSERT_NE(info, nullptr) << id;
    EXPECT_EQ(info->name, rows[row].name);
    EXPECT_EQ(info->block_elements, rows[row].block_elements) << info->name;
    EXPECT_EQ(info->block_bytes, rows[row].block_bytes) << info->name;
    ++row;
  }
  EXPECT_EQ(row, rows.size());
  EXPECT_EQ(gguf::type_info(TensorType{0xFFFFFFFF}), nullptr);
}

TEST(Gguf, ReadsVersion2) {
  GgufWriter writer = rich_file();
  writer.version = 2;
  const Bytes bytes = writer.bytes();
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_rich_file(*file);
}

TEST(Gguf, FollowsTheAlignment) {
  for (const std::uint32_t alignment : {1u, 2u, 64u, 4096u}) {
    GgufWriter writer;
    writer.add_alignment(alignment);
    writer.add_tensor("a", TensorType::i8, {3}, pattern(3));
    writer.add_tensor("b", TensorType::f16, {4}, pattern(8));
    const Bytes bytes = writer.bytes();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ((file->tensor("a")->data.data() - bytes.data()) % alignment, 0);
    EXPECT_TRUE(equal(file->tensor("a")->data, pattern(3)));
    EXPECT_TRUE(equal(file->tensor("b")->data, pattern(8)));
  }
}

TEST(Gguf, DimensionOfZeroMakesAnEmptyTensor) {
  GgufWriter writer;
  writer.add_tensor("no columns", TensorType::q4_k, {0, 7}, {});
  writer.add_tensor("full", TensorType::i8, {2, 2}, pattern(4));
  writer.add_tensor("no rows", TensorType::q8_0, {32, 0, 5}, {});
  writer.add_tensor("scalar", TensorType::f32, {}, pattern(4));
  writer.add_tensor("at the end", TensorType::f32, {0}, {});
  writer.pad_last_tensor = false;
  Bytes bytes = writer.bytes();
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->tensor("no columns")->data.empty());
  EXPECT_EQ(file->tensor("no columns")->columns(), 0u);
  EXPECT_EQ(file->tensor("no columns")->rows(), 7u);
  EXPECT_TRUE(file->tensor("no rows")->data.empty());
  EXPECT_EQ(file->tensor("no rows")->rows(), 0u);
  EXPECT_TRUE(equal(file->tensor("full")->data, pattern(4)));
  EXPECT_EQ(file->tensor("scalar")->rank, 0u);
  EXPECT_EQ(file->tensor("scalar")->rows() * file->tensor("scalar")->columns(), 1u);
  EXPECT_TRUE(equal(file->tensor("scalar")->data, pattern(4)));
}

TEST(Gguf, FileWithoutAnything) {
  const Bytes bytes = GgufWriter().bytes();
  const auto file = File::parse(std::span(bytes).first(24));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->metadata().empty());
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_EQ(file->find(""), nullptr);
  EXPECT_EQ(file->split_count(), 1u);
}

TEST(Gguf, EveryBoolByteButZeroIsTrue) {
  for (const auto& [hex, expected] : {std::pair{"00", false}, {"01", true}, {"02", true}, {"ff", true}}) {
    GgufWriter writer;
    writer.add_raw("b", 7, from_hex(hex));
    const Bytes bytes = writer.bytes();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->find("b")->as_bool(), expected) << hex;
  }
}

TEST(Gguf, TellsASplitFile) {
  GgufWriter writer;
  writer.add("split.count", std::uint16_t{6});
  const Bytes bytes = writer.bytes();
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->split_count(), 6u);
}

TEST(Gguf, EndsAtEveryByte) {
  const Bytes bytes = rich_file().bytes();
  const std::size_t padding = 32 - 144 % 32;  // of the last tensor, which nobody needs
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (size < bytes.size() - padding) {
      const auto file = File::parse(prefix);
      ASSERT_FALSE(file.ok()) << size;
      EXPECT_EQ(file.error().code, ErrorCode::invalid_file) << size << ": " << file.error().message;
    } else {
      const auto file = File::parse(prefix);
      ASSERT_TRUE(file.ok()) << size << ": " << file.error().message;
      expect_rich_file(*file);
    }
  }
}

}
}
