// SPDX-License-Identifier: Apache-2.0
// Packed files: what is written is read without a copy and multiplies to the same bits on every kernel; what
// is of another kind, version or byte order, truncated or altered is refused in words.
#include "edgeq/packed/file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "edgeq/format/ordered_source.hpp"
#include "edgeq/packed/writer.hpp"
#include "import/temporary_folder.hpp"
#include "support/run_layer.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;
using Activations = ActivationList<DynamicInt16, DynamicInt8>;
using Formats =
    FormatList<Int4<32>, Int4Zero<dynamic_group, Float16>, MxFp4, Q4K, Q6K, Int8<per_channel, float>>;

class PackedFile : public testing::Test {
 protected:
  std::string written(packed::Writer& writer) {
    const Status status = writer.write(path_.string());
    EXPECT_TRUE(status) << status.error().message;
    return folder_.read("weights");
  }
  /// The message with which bytes are refused, or "".
  std::string refusal(const std::string& bytes) {
    folder_.write("weights", std::string_view(bytes));
    const auto file = packed::File::open(path_.string());
    return file ? "" : file.error().message;
  }

  edgeq::test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path("weights");
};

template <class F>
void expect_same_layer(const packed::File& file, const std::string& name, const AnyLinear& expected) {
  SCOPED_TRACE(name);
  const packed::Entry* entry = file.find(name);
  ASSERT_NE(entry, nullptr);
  const auto layer = file.layer<Formats, Activations>(*entry);
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(static_cast<const void*>(layer->weight().panels()), entry->data.data()) << "copied";
  EXPECT_EQ(layer->format(), F::name());
  const auto x = ::test::random_floats(3 * layer->k(), 7);
  for (const char* activation : {"int8", "int16"})
    ::test::for_each_kernel(*layer->with(activation), [&](const AnyLinear& kernel, const char*) {
      ::test::expect_same(::test::run_layer(kernel, x.data(), 3),
                          ::test::run_layer(*expected.with(activation), x.data(), 3));
    });
}

TEST_F(PackedFile, GivesTheSameBitsOnEveryKernel) {
  const auto int4 = ::test::random_weights<Int4<32>>(37, 100, 0, 1);
  const auto zero = ::test::random_weights<Int4Zero<dynamic_group, Float16>>(130, 100, 24, 2);
  const auto mx = ::test::random_weights<MxFp4>(16, 65, 0, 3);
  const auto q4 = ::test::random_weights<Q4K>(20, 300, 0, 4);
  const auto q6 = ::test::random_weights<Q6K>(20, 300, 0, 5);
  const auto bias = ::test::random_floats(37, 6);
  OrderedSource<Int4<32>::View> reversed{int4.view(), 100, {}};
  for (std::uint32_t i = 100; i > 0; --i) reversed.order.push_back(i - 1);

  packed::Writer writer;
  ASSERT_TRUE(writer.add<Int4<32>>("plain", int4.view(), Bias(std::span(bias))));
  ASSERT_TRUE(writer.add<Int4<32>>("reversed", reversed));
  ASSERT_TRUE((writer.add<Int4Zero<dynamic_group, Float16>>("zero", zero.view())));
  ASSERT_TRUE(writer.add<MxFp4>("mx", mx.view()));
  ASSERT_TRUE(writer.add<Q4K>("q4", q4.view()));
  ASSERT_TRUE(writer.add<Q6K>("q6", q6.view()));
  written(writer);

  const auto file = packed::File::open(path_.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().size(), 6u);
  const Status whole = file->verify(packed::checksum);
  EXPECT_TRUE(whole) << whole.error().message;
  expect_same_layer<Int4<32>>(*file, "plain",
                              ::test::pack<Int4<32>, DynamicInt16, DynamicInt8>(int4.view(), bias));
  expect_same_layer<Int4<32>>(*file, "reversed", *AnyLinear::pack<Int4<32>, Activations>(reversed));
  expect_same_layer<Int4Zero<dynamic_group, Float16>>(
      *file, "zero", ::test::pack<Int4Zero<dynamic_group, Float16>, DynamicInt16, DynamicInt8>(zero.view()));
  expect_same_layer<MxFp4>(*file, "mx", ::test::pack<MxFp4, DynamicInt16, DynamicInt8>(mx.view()));
  expect_same_layer<Q4K>(*file, "q4", ::test::pack<Q4K, DynamicInt16, DynamicInt8>(q4.view()));
  expect_same_layer<Q6K>(*file, "q6", ::test::pack<Q6K, DynamicInt16, DynamicInt8>(q6.view()));
}

// Panels that do not fill the last block of the writer, on several threads.
TEST_F(PackedFile, IsWrittenInBlocks) {
  using F = Int8<per_channel, float>;
  const auto weights = ::test::random_weights<F>(16 * 300 + 1, 256, 0, 1);
  packed::Writer writer;
  ASSERT_TRUE(writer.add<F>("w", weights.view()));
  std::uint64_t last = 0, calls = 0;
  ASSERT_TRUE(
      writer.write(path_.string(), ::test::LastTaskFirst{3}, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GE(done, last);
        EXPECT_LE(done, total);
        last = done;
        ++calls;
      }));
  EXPECT_GT(calls, 2u);
  const auto file = packed::File::open(path_.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(std::filesystem::file_size(path_), last);
  const AnyLinear expected = ::test::pack<F, DynamicInt16, DynamicInt8>(weights.view());
  const auto data = file->find("w")->data;
  ASSERT_EQ(data.size(), expected.weight().geometry().packed_bytes());
  EXPECT_EQ(std::memcmp(data.data(), expected.weight().panels(), data.size()), 0);
}

TEST_F(PackedFile, KeepsOtherTensorsAsTheyAre) {
  const float norm[3] = {1.0f, 2.0f, -3.0f};
  packed::Writer writer;
  ASSERT_TRUE(writer.add({"norm", ElementType::f32, {3}, std::as_bytes(std::span(norm))}));
  ASSERT_TRUE(writer.add({"scalar", ElementType::f32, {}, std::as_bytes(std::span(norm).first(1))}));
  written(writer);
  const auto file = packed::File::open(path_.string());
  ASSERT_TRUE(file);
  const packed::Entry& entry = *file->find("norm");
  EXPECT_EQ(entry.format, "F32");
  EXPECT_EQ(entry.n, 1u);
  EXPECT_EQ(entry.k, 3u);
  EXPECT_EQ(std::memcmp(entry.data.data(), norm, sizeof(norm)), 0);
  const auto layer = file->layer<Formats, Activations>(entry);
  ASSERT_FALSE(layer);
  EXPECT_NE(layer.error().message.find("norm is not packed"), std::string::npos);
}

TEST_F(PackedFile, RefusesFormatsOutsideTheList) {
  const auto weights = ::test::random_weights<Int4<64>>(1, 64, 0, 1);
  packed::Writer writer;
  ASSERT_TRUE(writer.add<Int4<64>>("w", weights.view()));
  written(writer);
  const auto file = packed::File::open(path_.string());
  const auto layer = file->layer<Formats, Activations>(*file->find("w"));
  ASSERT_FALSE(layer);
  EXPECT_NE(layer.error().message.find("w is int4 sym g64 bf16"), std::string::npos);
  EXPECT_EQ(file->find("v"), nullptr);
}

TEST_F(PackedFile, IsRefusedWhenTruncatedOrAltered) {
  const auto weights = ::test::random_weights<Int4<32>>(5, 40, 0, 1);
  const auto bias = ::test::random_floats(5, 2);
  packed::Writer writer;
  ASSERT_TRUE(writer.add<Int4<32>>("first", weights.view(), Bias(std::span(bias))));
  ASSERT_TRUE(writer.add<Int4<32>>("second", weights.view()));
  const std::string good = written(writer);
  ASSERT_EQ(refusal(good), "");

  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(refusal(good.substr(0, size)), "") << size;
  EXPECT_NE(refusal(good.substr(0, good.size() - 1)).find("truncated"), std::string::npos);
  EXPECT_NE(refusal(good + "x").find("should have"), std::string::npos);

  const auto with = [&](std::size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  EXPECT_NE(refusal(with(0, "G")).find("another kind"), std::string::npos);
  EXPECT_NE(refusal(with(8, "\2")).find("version 2"), std::string::npos);
  EXPECT_NE(refusal(with(12, "\1\2\3\4")).find("other byte order"), std::string::npos);
  EXPECT_NE(refusal(with(12, "\7")).find("byte order mark"), std::string::npos);

  // Any changed byte is refused at once or found by its checksum, unless it is padding between parts.
  std::size_t unnoticed = 0, parts = 0;
  for (const packed::Entry& entry : packed::File::open((refusal(good), path_.string()))->entries())
    parts += entry.data.size() + entry.bias.size_bytes() + entry.order.size_bytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (!refusal(with(i, {static_cast<char>(good[i] ^ 0x10)})).empty()) continue;
    const auto file = packed::File::open(path_.string());
    const Status whole = file->verify(packed::checksum);
    if (whole)
      ++unnoticed;
    else
      EXPECT_NE(whole.error().message.find("was altered"), std::string::npos);
    for (const packed::Entry& entry : file->entries())  // no fault, whatever it says
      (void)file->layer<Formats, Activations>(entry);
  }
  std::uint64_t index_size;
  std::memcpy(&index_size, good.data() + 32, sizeof(index_size));
  EXPECT_EQ(unnoticed, good.size() - 64 - index_size - parts);
}

TEST_F(PackedFile, RefusesNamesThatStandTwice) {
  const auto weights = ::test::random_weights<Int4<32>>(5, 40, 0, 1);
  packed::Writer writer;
  EXPECT_TRUE(writer.add<Int4<32>>("w", weights.view()));
  const Status twice = writer.add<Int4<32>>("w", weights.view());
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("stands there already"), std::string::npos);
  EXPECT_FALSE(writer.add<Int4<32>>("", weights.view()));
  EXPECT_FALSE(writer.add<Int4<32>>(std::string(5000, 'n'), weights.view()));
  const auto status = writer.write("/nowhere/at/all");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::io);

  std::filesystem::create_directory(path_);  // a name that a file cannot take
  EXPECT_FALSE(writer.write(path_.string()));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".part"));
}

}
