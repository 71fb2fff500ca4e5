// SPDX-License-Identifier: Apache-2.0
// What the safetensors reader returns for well-formed files, at any address.
#include "edgeq/import/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gguf_writer.hpp"
#include "safetensors_bytes.hpp"

namespace edgeq {
namespace {

using safetensors::File;
using test::from_hex;
using test::pattern;
using test::safetensors_bytes;
using test::safetensors_entry;
using Bytes = std::vector<std::byte>;

constexpr const char* worked_header =
    "7b2277223a7b226474797065223a22463332222c227368617065223a5b325d2c22646174615f6f666673657473223a5b302c385d"
    "7d7d";
constexpr const char* worked_data = "0000c03f 000000c0";

void expect_worked_example(const Bytes& bytes) {
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 1u);
  const CheckpointTensor* w = file->tensor("w");
  ASSERT_EQ(w, file->tensors().data());
  EXPECT_EQ(w->name, "w");
  EXPECT_EQ(w->type, ElementType::f32);
  EXPECT_EQ(w->shape, std::vector<std::size_t>{2});
  EXPECT_EQ(w->data.data(), bytes.data() + bytes.size() - 8);
  EXPECT_EQ(w->data.size(), 8u);
  EXPECT_EQ(w->at<float>(0), 1.5f);
  EXPECT_EQ(w->at<float>(1), -2.0f);
  EXPECT_EQ(file->tensor("v"), nullptr);
  EXPECT_TRUE(file->metadata().empty());
}

TEST(Safetensors, WorkedExample) {
  expect_worked_example(from_hex(std::string("3800000000000000") + worked_header + "2020" + worked_data));
}

// Header lengths that are no multiple of 4 put floats at odd addresses.
TEST(Safetensors, UnalignedTwinOfTheWorkedExample) {
  expect_worked_example(from_hex(std::string("3600000000000000") + worked_header + worked_data));
}

TEST(Safetensors, HalfFloatsAfterAnOddNumberOfBytes) {
  const Bytes bytes = safetensors_bytes("{" + safetensors_entry("codes", "U8", "[3]", "[0,3]") + "," +
                                            safetensors_entry("scales", "F16", "[2]", "[3,7]") + "}",
                                        from_hex("010203 003c 0038"));
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensor("codes")->at<std::uint8_t>(2), 3);
  EXPECT_EQ(file->tensor("scales")->at<std::uint16_t>(0), 0x3C00);
  EXPECT_EQ(file->tensor("scales")->at<std::uint16_t>(1), 0x3800);
}

TEST(Safetensors, SmallestFile) {
  const Bytes bytes = from_hex("0200000000000000 7b7d");
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_EQ(file->tensor(""), nullptr);
}

// Two elements of each type, or four where two are no whole bytes.
TEST(Safetensors, EveryType) {
  const std::pair<const char*, std::size_t> types[] = {
      {"BOOL", 2},    {"U8", 2},          {"I8", 2},          {"I16", 4},     {"U16", 4},
      {"I32", 8},     {"U32", 8},         {"I64", 16},        {"U64", 16},    {"F16", 4},
      {"BF16", 4},    {"F32", 8},         {"F64", 16},        {"C64", 16},    {"F8_E4M3", 2},
      {"F8_E5M2", 2}, {"F8_E4M3FNUZ", 2}, {"F8_E5M2FNUZ", 2}, {"F8_E8M0", 2}, {"F4", 1}};
  for (const auto& [name, size] : types) {
    const Bytes bytes = safetensors_bytes(
        "{" + safetensors_entry("w", name, "[1,2]", "[0," + std::to_string(size) + "]") + "}", pattern(size));
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(element_info(file->tensor("w")->type).name, name);
    EXPECT_EQ(file->tensor("w")->data.size(), size);
  }
  for (const char* name : {"F6_E2M3", "F6_E3M2"}) {
    const Bytes bytes =
        safetensors_bytes("{" + safetensors_entry("w", name, "[4]", "[0,3]") + "}", pattern(3));
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(element_info(file->tensor("w")->type).name, name);
  }
}

TEST(Safetensors, ScalarsAndEmptyTensors) {
  const Bytes bytes = safetensors_bytes("{" + safetensors_entry("empty", "F32", "[0,7]", "[0,0]") + "," +
                                            safetensors_entry("scalar", "I16", "[]", "[0,2]") + "," +
                                            safetensors_entry("last", "F4", "[3,0]", "[2,2]") + "}",
                                        from_hex("feff"));
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensor("empty")->size(), 0u);
  EXPECT_TRUE(file->tensor("empty")->data.empty());
  EXPECT_EQ(file->tensor("scalar")->size(), 1u);
  EXPECT_EQ(file->tensor("scalar")->at<std::int16_t>(0), -2);
  EXPECT_TRUE(file->tensor("last")->data.empty());
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirData) {
  const Bytes bytes = safetensors_bytes("{" + safetensors_entry("a", "U8", "[1]", "[2,3]") + "," +
                                            safetensors_entry("b", "U8", "[2]", "[0,2]") + "}",
                                        from_hex("010203"));
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors()[0].name, "b");
  EXPECT_EQ(file->tensors()[1].name, "a");
  EXPECT_EQ(file->tensor("a")->at<std::uint8_t>(0), 3);
}

TEST(Safetensors, NamesAndMetadataAreUnescaped) {
  const Bytes bytes = safetensors_bytes(R"({"__metadata__":{"format":"pt","\u00e9":""},)" +
                                        safetensors_entry(R"(a\"\n\u00e9)", "U8", "[0]", "[0,0]") + "}   ");
  auto parsed = File::parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const File file = std::move(parsed).value();  // views survive moves
  EXPECT_NE(file.tensor("a\"\n\xc3\xa9"), nullptr);
  ASSERT_EQ(file.metadata().size(), 2u);
  EXPECT_EQ(file.metadata()[0].key, "format");
  EXPECT_EQ(file.metadata()[0].value, "pt");
  EXPECT_EQ(file.metadata()[1].key, "\xc3\xa9");
}

TEST(Safetensors, UnknownFieldsOfATensorAreIgnored) {
  const Bytes bytes = safetensors_bytes(
      R"({"w":{"later":{"deep":[1.5e3,null,{}]},"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      pattern(1));
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_NE(file->tensor("w"), nullptr);
}

TEST(Safetensors, ManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 1000; ++i) {
    header +=
        (i == 0 ? "" : ",") + safetensors_entry("t" + std::to_string(i), "U8", "[1]",
                                                "[" + std::to_string(i) + "," + std::to_string(i + 1) + "]");
  }
  const Bytes bytes = safetensors_bytes(header + "}", pattern(1000));
  const auto file = File::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (std::size_t i = 0; i < 1000; ++i) {
    const CheckpointTensor* tensor = file->tensor("t" + std::to_string(i));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->data[0], pattern(1000)[i]);
  }
}

}
}
