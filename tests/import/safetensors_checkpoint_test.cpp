// SPDX-License-Identifier: Apache-2.0
// Which files a checkpoint is taken from, and that each tensor comes from the shard that the index names.
#include "edgeq/import/safetensors_checkpoint.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "safetensors_bytes.hpp"
#include "temporary_folder.hpp"

namespace edgeq {
namespace {

using safetensors::Checkpoint;
using test::safetensors_bytes;
using test::safetensors_entry;
using test::TemporaryFolder;

// A file of tensors with one byte each.
std::vector<std::byte> file_of(std::initializer_list<std::pair<const char*, int>> tensors) {
  std::string header = "{";
  std::vector<std::byte> data;
  for (const auto& [name, value] : tensors) {
    const std::string begin = std::to_string(data.size()), end = std::to_string(data.size() + 1);
    header += (data.empty() ? "" : ",") + safetensors_entry(name, "U8", "[1]", "[" + begin + "," + end + "]");
    data.push_back(static_cast<std::byte>(value));
  }
  return safetensors_bytes(header + "}", data);
}

int value_of(const Checkpoint& checkpoint, std::string_view name) {
  const CheckpointTensor* tensor = checkpoint.tensor(name);
  return tensor == nullptr ? -1 : tensor->at<std::uint8_t>(0);
}

std::string index_of(std::string_view map) {
  return R"({"metadata":{"total_size":3},"weight_map":)" + std::string(map) + "}";
}

void expect_refused(const std::string& path, ErrorCode code,
                    std::initializer_list<std::string_view> phrases) {
  const auto checkpoint = Checkpoint::open(path);
  ASSERT_FALSE(checkpoint.ok()) << "not refused, but should say: " << *phrases.begin();
  EXPECT_EQ(checkpoint.error().code, code) << checkpoint.error().message;
  for (const auto phrase : phrases) {
    EXPECT_NE(checkpoint.error().message.find(phrase), std::string::npos)
        << "'" << phrase << "' is not in: " << checkpoint.error().message;
  }
}

TEST(SafetensorsCheckpoint, OneFile) {
  const TemporaryFolder folder;
  folder.write("any.safetensors", file_of({{"b", 2}, {"a", 1}}));
  for (const std::string& path : {folder.path("any.safetensors"), folder.path()}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->tensors().size(), 2u);
    EXPECT_EQ(checkpoint->tensors()[0].name, "b");
    EXPECT_EQ(value_of(*checkpoint, "a"), 1);
    EXPECT_EQ(value_of(*checkpoint, "b"), 2);
    EXPECT_EQ(value_of(*checkpoint, "c"), -1);
  }
}

// Shards may hold stale tensors under the names of others.
TEST(SafetensorsCheckpoint, EachTensorComesFromTheShardThatTheIndexNames) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", file_of({{"a", 1}, {"b", 99}, {"stale", 98}}));
  folder.write("two.safetensors", file_of({{"a", 97}, {"c", 3}, {"b", 2}}));
  folder.write("model.safetensors.index.json",
               index_of(R"({"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"})"));
  for (const std::string& path : {folder.path("model.safetensors.index.json"), folder.path()}) {
    auto opened = Checkpoint::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const Checkpoint checkpoint = std::move(opened).value();
    std::vector<std::string_view> names;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) names.push_back(tensor.name);
    EXPECT_EQ(names, (std::vector<std::string_view>{"a", "c", "b"}));
    EXPECT_EQ(value_of(checkpoint, "a"), 1);
    EXPECT_EQ(value_of(checkpoint, "b"), 2);
    EXPECT_EQ(value_of(checkpoint, "c"), 3);
    EXPECT_EQ(value_of(checkpoint, "stale"), -1);
    EXPECT_EQ(checkpoint.files().size(), 2u);
  }
}

TEST(SafetensorsCheckpoint, TheFileThatAFolderIsOpenedBy) {
  const TemporaryFolder folder;
  expect_refused(folder.path(), ErrorCode::io, {"0 .safetensors files", "0 indices"});
  folder.write("x.safetensors", file_of({{"a", 1}}));
  EXPECT_EQ(value_of(*Checkpoint::open(folder.path()), "a"), 1);
  folder.write("y.safetensors", file_of({{"a", 2}}));
  expect_refused(folder.path(), ErrorCode::io, {"2 .safetensors files", "name the one"});
  folder.write("gptq.safetensors.index.json", index_of(R"({"a":"y.safetensors"})"));
  EXPECT_EQ(value_of(*Checkpoint::open(folder.path()), "a"), 2);
  folder.write("other.safetensors.index.json", index_of(R"({"a":"x.safetensors"})"));
  expect_refused(folder.path(), ErrorCode::io, {"2 indices"});
  folder.write("model.safetensors.index.json", index_of(R"({"a":"x.safetensors"})"));
  EXPECT_EQ(value_of(*Checkpoint::open(folder.path()), "a"), 1);
  folder.write("model.safetensors", file_of({{"a", 3}}));
  EXPECT_EQ(value_of(*Checkpoint::open(folder.path()), "a"), 3);
}

TEST(SafetensorsCheckpoint, MissingShard) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", file_of({{"a", 1}}));
  folder.write("i.json", index_of(R"({"a":"one.safetensors","b":"two.safetensors"})"));
  expect_refused(folder.path("i.json"), ErrorCode::io, {"two.safetensors", "No such file"});
}

TEST(SafetensorsCheckpoint, TensorThatIsNotInItsShard) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", file_of({{"a", 1}}));
  folder.write("two.safetensors", file_of({{"b", 1}}));
  folder.write("i.json", index_of(R"({"a":"one.safetensors","b":"one.safetensors"})"));
  expect_refused(folder.path("i.json"), ErrorCode::invalid_file, {"tensor \"b\"", "\"one.safetensors\""});
}

TEST(SafetensorsCheckpoint, MalformedShard) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", "{}");
  folder.write("i.json", index_of(R"({"a":"one.safetensors"})"));
  expect_refused(folder.path("i.json"), ErrorCode::invalid_file, {"\"one.safetensors\"", "at least 8"});
}

TEST(SafetensorsCheckpoint, FileNamesThatLeaveTheFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("one.safetensors", file_of({{"a", 1}}));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../one.safetensors"),
        std::string("sub/../one.safetensors"), std::string("..\\\\one.safetensors"),
        folder.path("one.safetensors"), std::string("C:one.safetensors"),
        std::string("one.safetensors\\u0000.bin"), std::string("one\\n")}) {
    folder.write("i.json", index_of(R"({"a":")" + name + R"("})"));
    expect_refused(folder.path("i.json"), ErrorCode::invalid_file,
                   {"index \"i.json\"", "tensor \"a\"", "plain name"});
  }
}

TEST(SafetensorsCheckpoint, MalformedIndex) {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> indices[] = {
      {"", "not JSON"},
      {"[]", "weight_map must be an object"},
      {"{}", "weight_map must be an object"},
      {R"({"weight_map":[]})", "weight_map must be an object"},
      {R"({"weight_map":{"a":1}})", "file of tensor \"a\" must be a string"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "\"a\" stands twice"},
  };
  for (const auto& [index, phrase] : indices) {
    folder.write("i.json", std::string_view(index));
    expect_refused(folder.path("i.json"), ErrorCode::invalid_file, {"index \"i.json\"", phrase});
  }
  folder.write("i.json", R"({"weight_map":{}})");
  const auto empty = Checkpoint::open(folder.path("i.json"));
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_TRUE(empty->tensors().empty());
  expect_refused(folder.path("absent.json"), ErrorCode::io, {"absent.json"});
  expect_refused(folder.path("absent"), ErrorCode::io, {"absent"});
}

}
}
