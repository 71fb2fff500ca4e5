// SPDX-License-Identifier: Apache-2.0
// What the safetensors writer writes, to the byte, and what it refuses.
#include "edgeq/import/safetensors_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "edgeq/import/mapped_file.hpp"
#include "gguf_writer.hpp"
#include "safetensors_bytes.hpp"
#include "temporary_folder.hpp"

namespace edgeq {
namespace {

using safetensors::File;
using safetensors::TensorDeclaration;
using safetensors::Writer;
using test::from_hex;
using test::pattern;
using test::TemporaryFolder;
using Bytes = std::vector<std::byte>;

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_refused(const auto& result, ErrorCode code, std::initializer_list<std::string_view> phrases) {
  ASSERT_FALSE(result.ok()) << "not refused, but should say: " << *phrases.begin();
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const auto phrase : phrases) {
    EXPECT_NE(result.error().message.find(phrase), std::string::npos)
        << "'" << phrase << "' is not in: " << result.error().message;
  }
}

TEST(SafetensorsWriter, WorkedExample) {
  const TemporaryFolder folder;
  auto writer = Writer::create(folder.path("w"), {{"w", ElementType::f32, {2}}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const Bytes data = from_hex("0000c03f 000000c0");
  ASSERT_TRUE(writer->append("w", data).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.read("w"), text_of(test::safetensors_bytes(
                                  R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", data)));
}

TEST(SafetensorsWriter, SmallestFileIsPadded) {
  const TemporaryFolder folder;
  auto writer = Writer::create(folder.path("w"), {});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.read("w"), text_of(test::safetensors_bytes("{}      ")));
}

TEST(SafetensorsWriter, WideTypesComeFirstThenNames) {
  const TemporaryFolder folder;
  auto writer = Writer::create(folder.path("w"), {{"e", ElementType::u8, {3}},
                                                  {"b", ElementType::f16, {1}},
                                                  {"d", ElementType::u8, {0, 5}},
                                                  {"c", ElementType::f64, {}},
                                                  {"a", ElementType::bf16, {1}}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  std::string order;
  for (const TensorDeclaration& tensor : writer->tensors()) order += tensor.name;
  EXPECT_EQ(order, "cabde");
  Writer moved = std::move(writer).value();
  for (const TensorDeclaration& tensor : moved.tensors()) {
    std::size_t bytes = element_info(tensor.type).bits / 8;
    for (const std::size_t extent : tensor.shape) bytes *= extent;
    for (const std::byte& byte : pattern(bytes)) ASSERT_TRUE(moved.append(tensor.name, {&byte, 1}).ok());
  }
  ASSERT_TRUE(moved.finish().ok());
  const auto mapping = MappedFile::open(folder.path("w"));
  ASSERT_TRUE(mapping.ok());
  const auto file = File::parse(mapping->bytes());
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const CheckpointTensor& tensor : file->tensors()) {
    const std::size_t alignment = element_info(tensor.type).bits / 8;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % alignment, 0u) << tensor.name;
    EXPECT_EQ(Bytes(tensor.data.begin(), tensor.data.end()), pattern(tensor.data.size()));
  }
  EXPECT_EQ(file->tensor("d")->shape, (std::vector<std::size_t>{0, 5}));
  EXPECT_TRUE(file->tensor("c")->shape.empty());
}

TEST(SafetensorsWriter, NamesAndMetadataAreEscaped) {
  const TemporaryFolder folder;
  const std::string name = "a\"\\/\b\f\n\r\t\x01\x7f\xc3\xa9";
  auto writer =
      Writer::create(folder.path("w"), {{name, ElementType::u8, {0}}}, {{"format", "pt"}, {name, ""}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer->finish().ok());
  const std::string bytes = folder.read("w");
  EXPECT_NE(bytes.find("\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\xc3\xa9\":{"), std::string::npos) << bytes;
  const auto file = File::parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_NE(file->tensor(name), nullptr);
  ASSERT_EQ(file->metadata().size(), 2u);
  EXPECT_EQ(file->metadata()[0].key, name);
  EXPECT_EQ(file->metadata()[1].value, "pt");
}

TEST(SafetensorsWriter, DataThatIsNotWhatWasDeclared) {
  const TemporaryFolder folder;
  auto writer = Writer::create(folder.path("w"), {{"a", ElementType::u8, {3}}, {"b", ElementType::u8, {1}}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  expect_refused(writer->append("b", pattern(1)), ErrorCode::invalid_argument, {"\"b\"", "turn of \"a\""});
  expect_refused(writer->append("c", pattern(1)), ErrorCode::invalid_argument, {"\"c\"", "turn of \"a\""});
  expect_refused(writer->append("a", pattern(4)), ErrorCode::invalid_argument,
                 {"\"a\"", "4 more", "needs 3"});
  ASSERT_TRUE(writer->append("a", pattern(2)).ok());
  expect_refused(writer->append("a", pattern(2)), ErrorCode::invalid_argument, {"\"a\"", "needs 1"});
  expect_refused(writer->finish(), ErrorCode::invalid_argument, {"\"a\"", "1 bytes are missing"});
  ASSERT_TRUE(writer->append("a", pattern(1)).ok());
  expect_refused(writer->finish(), ErrorCode::invalid_argument, {"\"b\"", "1 bytes are missing"});
  ASSERT_TRUE(writer->append("b", pattern(1)).ok());
  expect_refused(writer->append("b", pattern(1)), ErrorCode::invalid_argument, {"\"b\"", "complete"});
  ASSERT_TRUE(writer->finish().ok());
  expect_refused(writer->append("b", {}), ErrorCode::invalid_argument, {"finished"});
  expect_refused(writer->finish(), ErrorCode::invalid_argument, {"finished"});
}

TEST(SafetensorsWriter, DeclarationsThatNoFileCanHold) {
  const TemporaryFolder folder;
  const auto create = [&](std::vector<TensorDeclaration> tensors,
                          const std::map<std::string, std::string>& metadata = {}) {
    return Writer::create(folder.path("w"), std::move(tensors), metadata);
  };
  constexpr auto invalid = ErrorCode::invalid_argument, too_large = ErrorCode::too_large;
  expect_refused(create({{"a", ElementType::u8, {1}}, {"a", ElementType::f32, {1}}}), invalid,
                 {"\"a\"", "twice"});
  expect_refused(create({{"__metadata__", ElementType::u8, {1}}}), invalid, {"__metadata__"});
  expect_refused(create({{"\xff", ElementType::u8, {1}}}), invalid, {"UTF-8"});
  expect_refused(create({}, {{"a", "\xff"}}), invalid, {"UTF-8"});
  expect_refused(create({{"a", ElementType::f4, {3}}}), invalid, {"\"a\"", "12 bits"});
  expect_refused(create({{"a", ElementType::u8, {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1}}}), too_large,
                 {"\"a\""});
  const std::vector<std::size_t> half = {SIZE_MAX / 16 + 1};
  std::vector<TensorDeclaration> many;
  for (char c = 'a'; c < 'a' + 17; ++c) many.push_back({std::string(1, c), ElementType::u8, half});
  expect_refused(create(std::move(many)), too_large, {"\"p\"", "up to its end"});
  expect_refused(create({{std::string(100'000'000, 'a'), ElementType::u8, {1}}}), too_large,
                 {"limit is 100000000"});
  EXPECT_TRUE(folder.names().empty());
}

// A file that is mapped keeps its bytes, and nothing is left of one that was not finished.
TEST(SafetensorsWriter, TheFileTakesItsNameWhenItIsFinished) {
  const TemporaryFolder folder;
  folder.write("w", "what was there");
  {
    auto writer = Writer::create(folder.path("w"), {{"a", ElementType::u8, {3}}});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->append("a", pattern(1)).ok());
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"w", "w.partial"}));
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"w"});
  EXPECT_EQ(folder.read("w"), "what was there");
  auto writer = Writer::create(folder.path("w"), {});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"w"});
  EXPECT_EQ(folder.read("w").size(), 16u);
  expect_refused(Writer::create(folder.path("no/w"), {}), ErrorCode::io, {"create", "no/w"});
}

}
}
