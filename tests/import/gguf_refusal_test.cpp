// SPDX-License-Identifier: Apache-2.0
// What the GGUF reader refuses, with which error code, and that the sentence names the culprit.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "edgeq/import/gguf.hpp"
#include "gguf_writer.hpp"

namespace edgeq {
namespace {

using gguf::File;
using gguf::TensorType;
using test::from_hex;
using test::GgufWriter;
using test::pattern;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t two_to_62 = std::uint64_t{1} << 62;

void expect_refused(const Bytes& bytes, ErrorCode code, std::initializer_list<std::string_view> phrases) {
  const auto file = File::parse(bytes);
  ASSERT_FALSE(file.ok()) << "not refused, but should say: " << *phrases.begin();
  EXPECT_EQ(file.error().code, code) << file.error().message;
  for (const auto phrase : phrases) {
    EXPECT_NE(file.error().message.find(phrase), std::string::npos)
        << "'" << phrase << "' is not in: " << file.error().message;
  }
}

// A file with one tensor "w" that has no data in it.
Bytes with_tensor(TensorType type, std::initializer_list<std::uint64_t> dims, std::uint64_t offset = 0) {
  GgufWriter writer;
  writer.add_tensor("w", type, dims, {}, offset);
  return writer.bytes();
}

Bytes with_raw_entry(std::string_view key, std::uint32_t type, std::string_view value_hex) {
  GgufWriter writer;
  writer.add_raw(key, type, from_hex(value_hex));
  writer.add("next", std::uint64_t{0});
  return writer.bytes();
}

TEST(GgufRefusal, OtherHeaders) {
  expect_refused({}, ErrorCode::invalid_file, {"GGUF header", "file ends"});
  expect_refused(from_hex("47475546"), ErrorCode::invalid_file, {"GGUF header", "file ends"});
  expect_refused(from_hex("50415231 03000000"), ErrorCode::invalid_file,
                 {"starts with \"PAR1\"", "\"GGUF\""});
  GgufWriter writer;
  for (const std::uint32_t version : {0u, 4u, 0xFFFFFFFFu}) {
    writer.version = version;
    expect_refused(writer.bytes(), ErrorCode::unsupported,
                   {"version is " + std::to_string(version), "2 and 3"});
  }
  writer.version = 1;
  expect_refused(writer.bytes(), ErrorCode::unsupported, {"version is 1", "32-bit counts"});
  writer.version = 0x03000000;
  expect_refused(writer.bytes(), ErrorCode::unsupported, {"big-endian"});
}

TEST(GgufRefusal, CountsThatCannotFit) {
  for (const std::uint64_t count : {std::uint64_t{100}, two_to_62, ~std::uint64_t{0}}) {
    GgufWriter writer;
    writer.add("key", std::uint8_t{1});
    writer.add_tensor("w", TensorType::i8, {1}, pattern(1));
    writer.tensor_count = count;
    expect_refused(writer.bytes(), ErrorCode::invalid_file, {"tensor_count is " + std::to_string(count)});
    writer.tensor_count.reset();
    writer.entry_count = count;
    expect_refused(writer.bytes(), ErrorCode::invalid_file, {"kv_count is " + std::to_string(count)});
  }
}

TEST(GgufRefusal, Keys) {
  GgufWriter empty;
  empty.add("first", std::uint8_t{1});
  empty.add("", std::uint8_t{1});
  expect_refused(empty.bytes(), ErrorCode::invalid_file, {"metadata entry 1", "key is empty"});

  GgufWriter twice;
  twice.add("b", std::uint8_t{1});
  twice.add("a", std::uint8_t{1});
  twice.add("b", std::uint32_t{2});
  expect_refused(twice.bytes(), ErrorCode::invalid_file, {"metadata entry \"b\"", "more than one"});

  for (const auto* length : {"0000000000000080", "ffffffffffffffff", "0100004000000000"}) {
    Bytes bytes = from_hex("47475546 03000000 0000000000000000 0100000000000000");
    for (const std::byte b : from_hex(length)) bytes.push_back(b);
    bytes.resize(bytes.size() + 100);
    expect_refused(bytes, ErrorCode::too_large, {"metadata entry 0", "2^30"});
  }

  // What the file says is cut and made printable before it is repeated.
  GgufWriter hostile;
  hostile.add_raw("\n\x1b[31m" + std::string(1000, 'x'), 99, {});
  const auto file = File::parse(hostile.bytes());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("\"??[31mxxx"), std::string::npos) << file.error().message;
  EXPECT_LT(file.error().message.size(), 200u);
}

TEST(GgufRefusal, Values) {
  expect_refused(with_raw_entry("v", 13, "00000000"), ErrorCode::invalid_file, {"\"v\"", "value type is 13"});
  expect_refused(with_raw_entry("v", 8, "00000000000000f0"), ErrorCode::too_large, {"\"v\"", "string"});
  expect_refused(with_raw_entry("v", 8, "0000003000000000"), ErrorCode::invalid_file, {"\"v\"", "file ends"});
  const std::string u8s = "00000000", strings = "08000000", arrays = "09000000", unknown = "0d000000";
  expect_refused(with_raw_entry("v", 9, unknown + "0100000000000000 00"), ErrorCode::invalid_file,
                 {"\"v\"", "value type is 13"});
  expect_refused(with_raw_entry("v", 9, arrays + "0000000000000000"), ErrorCode::unsupported,
                 {"\"v\"", "elements are arrays"});
  expect_refused(with_raw_entry("v", 9, u8s + "0000000000000040"), ErrorCode::too_large,
                 {"\"v\"", std::to_string(two_to_62) + " elements"});
  expect_refused(with_raw_entry("v", 9, u8s + "0000000100000000"), ErrorCode::invalid_file,
                 {"\"v\"", "file ends"});
  expect_refused(with_raw_entry("v", 9, strings + "0000000100000000"), ErrorCode::invalid_file,
                 {"\"v\"", "file ends"});
  expect_refused(with_raw_entry("v", 9, strings + "0100000000000000 ffffffffffffffff"), ErrorCode::too_large,
                 {"\"v\"", "string"});
}

TEST(GgufRefusal, Alignments) {
  for (const auto& [hex, found] :
       {std::pair{"00000000", "is 0,"}, {"03000000", "is 3,"}, {"ffffffff", "is 4294967295,"}}) {
    expect_refused(with_raw_entry("general.alignment", 4, hex), ErrorCode::invalid_file,
                   {"\"general.alignment\"", found, "power of two"});
  }
  expect_refused(with_raw_entry("general.alignment", 5, "20000000"), ErrorCode::invalid_file,
                 {"\"general.alignment\"", "value type is 5", "u32"});
  // The largest power of two is legal, but the data would have to start there.
  GgufWriter writer;
  writer.add("general.alignment", std::uint32_t{1} << 31);
  writer.add_tensor("w", TensorType::i8, {1}, pattern(1));
  expect_refused(writer.bytes(), ErrorCode::invalid_file, {"tensor \"w\"", "starts at byte 2147483648"});
}

TEST(GgufRefusal, Shapes) {
  constexpr auto max = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  constexpr bool is_64_bit = sizeof(std::size_t) > 4;
  for (const std::uint32_t rank : {5u, 9u, 0xFFFFFFFFu}) {
    Bytes bytes = from_hex("47475546 03000000 0100000000000000 0000000000000000 0100000000000000 77");
    GgufWriter::append(bytes, rank);
    bytes.resize(bytes.size() + 200);
    expect_refused(bytes, ErrorCode::invalid_file, {"tensor \"w\"", "n_dims is " + std::to_string(rank)});
  }
  expect_refused(with_tensor(TensorType::q8_0, {33, 32}), ErrorCode::invalid_file,
                 {"tensor \"w\"", "dims[0] is 33", "multiple of 32", "Q8_0"});
  expect_refused(with_tensor(TensorType::q6_k, {576}), ErrorCode::invalid_file,
                 {"dims[0] is 576", "multiple of 256"});
  expect_refused(with_tensor(TensorType::q4_0, {}), ErrorCode::invalid_file, {"dims[0] is 1,"});

  // Products that wrap a 64-bit number, once to 0, and once only if the dimension of 0 is left out.
  expect_refused(with_tensor(TensorType::i8, {max, 2}), ErrorCode::too_large,
                 {"tensor \"w\"", "dims are 9223372036854775807 x 2,"});
  expect_refused(with_tensor(TensorType::i8, {1, 1, max, 2}), ErrorCode::too_large,
                 {"tensor \"w\"", "product"});
  expect_refused(with_tensor(TensorType::i8, {max + 1}), ErrorCode::too_large, {"tensor \"w\"", "product"});
  expect_refused(with_tensor(TensorType::i8, {1ull << 32, 1ull << 32}), ErrorCode::too_large, {"product"});
  expect_refused(with_tensor(TensorType::i8, {0, 1ull << 40, 1ull << 40}), ErrorCode::too_large, {"product"});
  expect_refused(with_tensor(TensorType::f64, {two_to_62}), ErrorCode::too_large,
                 {"tensor \"w\"", is_64_bit ? "address space" : "product"});
  // 160127986750950969 blocks; dims[0] * 18 / 32 wraps to 2 bytes.
  expect_refused(with_tensor(TensorType::q4_0, {5124095576030431008u}),
                 is_64_bit ? ErrorCode::invalid_file : ErrorCode::too_large,
                 {"tensor \"w\"", is_64_bit ? "data has 2882303761517117442 bytes" : "product"});
}

TEST(GgufRefusal, TensorNames) {
  GgufWriter longest;
  longest.add_tensor(std::string(63, 'n'), TensorType::i8, {1}, pattern(1));
  const Bytes bytes = longest.bytes();
  EXPECT_TRUE(File::parse(bytes).ok());

  GgufWriter longer;
  longer.add_tensor(std::string(64, 'n'), TensorType::i8, {1}, pattern(1));
  expect_refused(longer.bytes(), ErrorCode::invalid_file, {"tensor \"nnn", "64 bytes"});

  GgufWriter twice;
  twice.add_tensor("w", TensorType::i8, {1}, pattern(1));
  twice.add_tensor("v", TensorType::i8, {1}, pattern(1));
  twice.add_tensor("w", TensorType::i8, {1}, pattern(1));
  expect_refused(twice.bytes(), ErrorCode::invalid_file, {"tensor \"w\"", "more than one"});
}

TEST(GgufRefusal, Offsets) {
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{64}, ~std::uint64_t{31}}) {
    GgufWriter writer;
    writer.add_tensor("first", TensorType::i8, {5}, pattern(5));
    writer.add_tensor("second", TensorType::i8, {5}, pattern(5), offset);
    writer.add_tensor("third", TensorType::i8, {5}, pattern(5));
    expect_refused(writer.bytes(), ErrorCode::invalid_file,
                   {"tensor \"second\"", "offset is " + std::to_string(offset), "must be 32"});
  }
  expect_refused(with_tensor(TensorType::i8, {0}, 32), ErrorCode::invalid_file,
                 {"tensor \"w\"", "must be 0"});
}

TEST(GgufRefusal, MissingData) {
  GgufWriter writer;
  writer.add_tensor("w", TensorType::f32, {100}, pattern(399));
  writer.pad_last_tensor = false;
  expect_refused(writer.bytes(), ErrorCode::invalid_file, {"tensor \"w\"", "data has 400 bytes", "399 left"});
}

TEST(GgufRefusal, TypesThatAreUnknownOrRemoved) {
  for (const std::uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 0x80000000u, 0xFFFFFFFFu}) {
    expect_refused(with_tensor(TensorType{id}, {256}), ErrorCode::unsupported,
                   {"tensor \"w\"", "type id is " + std::to_string(id)});
  }
}

TEST(GgufRefusal, SplitCountThatIsNoCount) {
  for (const std::uint32_t type : {5u, 6u}) {  // i32 -1, and an f32
    expect_refused(with_raw_entry("split.count", type, "ffffffff"), ErrorCode::invalid_file,
                   {"\"split.count\"", "integer"});
  }
}

}
}
