// SPDX-License-Identifier: Apache-2.0
// What the safetensors reader refuses: each malformed kind by its name, with its error code and the words
// that its sentence must have.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "edgeq/import/safetensors.hpp"
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

struct Malformed {
  std::string name;
  Bytes bytes;
  ErrorCode code = ErrorCode::invalid_file;
  std::vector<std::string> phrases;
};

// A file whose only tensor "w" has this shape and these offsets, and 8 bytes of data.
Bytes with_tensor(std::string_view shape, std::string_view offsets, std::string_view dtype = "F32") {
  return safetensors_bytes("{" + safetensors_entry("w", dtype, shape, offsets) + "}", pattern(8));
}

Bytes with_two(std::string_view first, std::string_view second, std::size_t size) {
  return safetensors_bytes("{" + safetensors_entry("a", "U8", "[4]", first) + "," +
                               safetensors_entry("b", "U8", "[4]", second) + "}",
                           pattern(size));
}

std::string nested(std::size_t depth) {
  return R"({"w":{"x":)" + std::string(depth, '[') + std::string(depth, ']') + "}}";
}

std::vector<Malformed> malformed_files() {
  constexpr auto invalid = ErrorCode::invalid_file, too_large = ErrorCode::too_large;
  // Extents and offsets that fit no size break a rule already.
  constexpr bool is_64_bit = sizeof(std::size_t) > 4;
  constexpr auto no_size = is_64_bit ? too_large : invalid;
  const std::string offsets_rule = "data_offsets must be two integers";
  const std::string shape_rule = "shape must be an array of integers";
  const std::string valid_entry = safetensors_entry("w", "F32", "[2]", "[0,8]");
  const Bytes data = pattern(8);
  return {
      {"EmptyFile", {}, invalid, {"0 bytes", "at least 8"}},
      {"SevenBytes", pattern(7), invalid, {"7 bytes", "at least 8"}},
      {"HeaderOfNoBytes", safetensors_bytes(""), invalid, {"header", "begin with \"{\""}},
      {"HeaderLongerThanTheFile",
       safetensors_bytes("{}", {}, 7),
       invalid,
       {"header: it has 7 bytes", "2 left"}},
      {"HeaderOf2To63",
       safetensors_bytes("{}", {}, std::uint64_t{1} << 63),
       too_large,
       {"9223372036854775808", "limit"}},
      {"HeaderOf2To64Minus1",
       safetensors_bytes("{}", {}, ~std::uint64_t{0}),
       too_large,
       {"18446744073709551615"}},
      {"HeaderOf100000001", safetensors_bytes("{}", {}, 100'000'001), too_large, {"100000001", "100000000"}},
      {"HeaderOf100000000", safetensors_bytes("{}", {}, 100'000'000), invalid, {"100000000", "2 left"}},

      {"NotJson", safetensors_bytes("{hello}"), invalid, {"header", "not JSON", "byte 1"}},
      {"TruncatedJson", safetensors_bytes(R"({"w":{"dtype":})"), invalid, {"header", "not JSON"}},
      {"NotAnObject", safetensors_bytes("[]"), invalid, {"header", "begins with \"[\""}},
      {"SpaceBeforeTheHeader", safetensors_bytes(" {}"), invalid, {"begins with \" \""}},
      {"ByteOrderMark", safetensors_bytes("\xef\xbb\xbf{}"), invalid, {"begins with \"?\""}},
      {"PaddedWithNewlines", safetensors_bytes("{}\n\n"), invalid, {"ends with \"?\"", "spaces"}},
      {"PaddedWithNul", safetensors_bytes(std::string_view("{}\0\0", 4)), invalid, {"ends with \"?\""}},
      {"NulInsideTheHeader", safetensors_bytes(std::string_view("{}\0}", 4)), invalid, {"byte 2", "NUL"}},
      {"TwoObjects", safetensors_bytes("{}{}"), invalid, {"not JSON", "byte 2"}},
      {"InvalidUtf8", safetensors_bytes("{\"\xff\":1}"), invalid, {"UTF-8", "byte 2"}},
      {"LoneSurrogate", safetensors_bytes(R"({"\ud800":1})"), invalid, {"UTF-8"}},
      {"Nested100000Deep", safetensors_bytes(nested(100'000)), too_large, {"header", "deeper than 64"}},
      {"NumberOf1e400", with_tensor("[1e400]", "[0,8]"), invalid, {"beyond the range of double"}},

      {"TensorThatIsNoObject", safetensors_bytes(R"({"w":[]})"), invalid, {"tensor \"w\"", "object"}},
      {"NoDtype",
       safetensors_bytes(R"({"w":{"shape":[],"data_offsets":[0,4]}})", pattern(4)),
       invalid,
       {"tensor \"w\"", "dtype"}},
      {"NoShape",
       safetensors_bytes(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", pattern(4)),
       invalid,
       {"tensor \"w\"", shape_rule}},
      {"NoOffsets",
       safetensors_bytes(R"({"w":{"dtype":"F32","shape":[]}})"),
       invalid,
       {"tensor \"w\"", offsets_rule}},
      {"UnknownDtype",
       with_tensor("[2]", "[0,8]", "F33"),
       ErrorCode::unsupported,
       {"tensor \"w\"", "\"F33\""}},
      {"DtypeInLowerCase", with_tensor("[2]", "[0,8]", "f32"), ErrorCode::unsupported, {"\"f32\""}},
      {"DtypeThatIsANumber",
       safetensors_bytes(R"({"w":{"dtype":5,"shape":[2],"data_offsets":[0,8]}})", data),
       invalid,
       {"tensor \"w\"", "dtype must be a string"}},

      {"NoOffset", with_tensor("[2]", "[]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OneOffset", with_tensor("[2]", "[0]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"ThreeOffsets", with_tensor("[2]", "[0,8,9]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetsReversed",
       with_tensor("[2]", "[8,0]"),
       invalid,
       {"tensor \"w\"", "[8, 0]", "before the begin"}},
      {"NegativeOffset", with_tensor("[2]", "[-8,0]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"NegativeZeroOffset", with_tensor("[2]", "[-0,8]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetOf1e3", with_tensor("[2]", "[0,1e3]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetOf8Point0", with_tensor("[2]", "[0,8.0]"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetInQuotes", with_tensor("[2]", R"([0,"8"])"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetsThatAreNoArray", with_tensor("[2]", "8"), invalid, {"tensor \"w\"", offsets_rule}},
      {"OffsetOf2To64Minus1",
       with_tensor("[2]", "[0,18446744073709551615]"),
       invalid,
       {"tensor \"w\"", is_64_bit ? "[0, 18446744073709551615]" : offsets_rule}},
      {"OffsetOf2To64",
       with_tensor("[2]", "[0,18446744073709551616]"),
       invalid,
       {"tensor \"w\"", offsets_rule}},
      {"ExtentOf2Point0", with_tensor("[2.0]", "[0,8]"), invalid, {"tensor \"w\"", shape_rule}},
      {"ExtentNegative", with_tensor("[-2]", "[0,8]"), invalid, {"tensor \"w\"", shape_rule}},
      {"ExtentInQuotes", with_tensor(R"(["2"])", "[0,8]"), invalid, {"tensor \"w\"", shape_rule}},
      {"ShapeThatIsNoArray", with_tensor("2", "[0,8]"), invalid, {"tensor \"w\"", shape_rule}},

      {"ProductWrapsTo0",
       with_tensor("[4294967296,4294967296]", "[0,0]"),
       no_size,
       {"tensor \"w\"", is_64_bit ? "[4294967296, 4294967296]" : shape_rule}},
      {"ProductWrapsTo8Bytes",
       with_tensor("[4294967296,4294967296,4294967296]", "[0,8]"),
       no_size,
       {"tensor \"w\"", is_64_bit ? "no size holds" : shape_rule}},
      {"BitsWrapTo64", with_tensor("[2305843009213693954]", "[0,8]"), no_size, {"tensor \"w\""}},
      {"ProductWrapsUnlessOneExtentIs0",
       with_tensor("[0,4294967296,4294967296]", "[0,0]"),
       no_size,
       {"tensor \"w\""}},
      {"SpanShorterThanTheShape",
       with_tensor("[1000,1000]", "[0,4]"),
       invalid,
       {"tensor \"w\"", "[0, 4]", "F32 [1000, 1000] needs 4000000 bytes"}},
      {"SpanLongerThanTheShape",
       with_tensor("[1]", "[0,8]"),
       invalid,
       {"tensor \"w\"", "[0, 8]", "needs 4 bytes"}},
      {"SpanOfAnEmptyTensor", with_tensor("[0]", "[0,8]"), invalid, {"tensor \"w\"", "needs 0 bytes"}},
      {"HalfAByte",
       safetensors_bytes("{" + safetensors_entry("w", "F4", "[3]", "[0,2]") + "}", pattern(2)),
       invalid,
       {"tensor \"w\"", "F4 [3] has 12 bits", "whole bytes"}},
      {"ThreeQuartersOfAByte",
       safetensors_bytes("{" + safetensors_entry("w", "F6_E2M3", "[1]", "[0,1]") + "}", pattern(1)),
       invalid,
       {"tensor \"w\"", "6 bits"}},

      {"TwoTensorsOnOneSpan",
       with_two("[0,4]", "[0,4]", 4),
       invalid,
       {"tensor \"", "begins at 0", "begin at 4"}},
      {"Overlap", with_two("[0,4]", "[3,7]", 7), invalid, {"tensor \"b\"", "begins at 3", "begin at 4"}},
      {"Gap", with_two("[0,4]", "[5,9]", 9), invalid, {"tensor \"b\"", "begins at 5", "begin at 4"}},
      {"GapBeforeTheFirst",
       with_two("[1,5]", "[5,9]", 9),
       invalid,
       {"tensor \"a\"", "begins at 1", "begin at 0"}},
      {"EmptyTensorInsideAnother",
       safetensors_bytes("{" + safetensors_entry("a", "U8", "[4]", "[0,4]") + "," +
                             safetensors_entry("b", "U8", "[0]", "[2,2]") + "}",
                         pattern(4)),
       invalid,
       {"tensor \"b\"", "begins at 2", "begin at 4"}},
      {"TruncatedData",
       safetensors_bytes("{" + valid_entry + "}", pattern(7)),
       invalid,
       {"tensor \"w\"", "ends at 8", "7 bytes of data"}},
      {"TrailingByte",
       safetensors_bytes("{" + valid_entry + "}", pattern(9)),
       invalid,
       {"9 bytes of data", "nothing may follow"}},
      {"TrailingByteAfterNoTensor", safetensors_bytes("{}", pattern(1)), invalid, {"1 bytes of data"}},

      {"NameTwice",
       safetensors_bytes("{" + valid_entry + "," + valid_entry + "}", data),
       invalid,
       {"header", "\"w\"", "twice"}},
      {"NameTwiceInOtherLetters",
       safetensors_bytes(
           "{" + valid_entry + "," + safetensors_entry(R"(\u0077)", "F32", "[0]", "[8,8]") + "}", data),
       invalid,
       {"\"w\"", "twice"}},
      {"FieldTwice",
       safetensors_bytes(R"({"w":{"dtype":"U8","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data),
       invalid,
       {"\"dtype\"", "twice"}},
      {"UnknownFieldTwice",
       safetensors_bytes(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":[{"y":1,"y":1}]}})",
                         data),
       invalid,
       {"\"y\"", "twice"}},
      {"MetadataWithANumber",
       safetensors_bytes(R"({"__metadata__":{"a":1}})"),
       invalid,
       {"__metadata__", "\"a\"", "string"}},
      {"MetadataThatIsNoObject",
       safetensors_bytes(R"({"__metadata__":"pt"})"),
       invalid,
       {"__metadata__", "object"}},
      {"MetadataThatIsATensor",
       safetensors_bytes("{" + safetensors_entry("__metadata__", "U8", "[8]", "[0,8]") + "}", data),
       invalid,
       {"__metadata__", "string"}},
      {"MetadataTwice", safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})"), invalid, {"twice"}},
  };
}

void PrintTo(const Malformed& malformed, std::ostream* stream) {
  *stream << malformed.name;
}

class SafetensorsRefusal : public testing::TestWithParam<Malformed> {};

TEST_P(SafetensorsRefusal, SaysWhy) {
  const Malformed& malformed = GetParam();
  const auto file = File::parse(malformed.bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, malformed.code) << file.error().message;
  for (const auto& phrase : malformed.phrases) {
    EXPECT_NE(file.error().message.find(phrase), std::string::npos)
        << "'" << phrase << "' is not in: " << file.error().message;
  }
  EXPECT_LT(file.error().message.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(Files, SafetensorsRefusal, testing::ValuesIn(malformed_files()),
                         [](const auto& info) { return info.param.name; });

TEST(SafetensorsRefusals, EveryTruncationOfAFile) {
  const Bytes bytes = safetensors_bytes(
      R"({"__metadata__":{"a":"b"},)" + safetensors_entry("w", "F32", "[2]", "[0,8]") + "}  ", pattern(8));
  ASSERT_TRUE(File::parse(bytes).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes truncated(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(File::parse(truncated).ok()) << size;
  }
}

// What the file says is cut and made printable before it is repeated.
TEST(SafetensorsRefusals, HostileNamesInMessages) {
  const Bytes bytes = safetensors_bytes(
      "{" + safetensors_entry(R"(\u001b[31m)" + std::string(1000, 'x'), "F33", "[]", "[]") + "}");
  const auto file = File::parse(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("\"?[31mxxx"), std::string::npos) << file.error().message;
  EXPECT_LT(file.error().message.size(), 200u);
}

}
}
