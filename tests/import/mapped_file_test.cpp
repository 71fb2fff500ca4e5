// SPDX-License-Identifier: Apache-2.0
// That a mapped file shows its bytes for as long as it is owned, and what cannot be opened.
#include "edgeq/import/mapped_file.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace edgeq {
namespace {

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, HoldsTheFileAndMoves) {
  const auto path = (std::filesystem::temp_directory_path() / "edgeq_mapped_file_test").string();
  const std::string text = "what the mapping shall hold";
  std::FILE* stream = std::fopen(path.c_str(), "wb");
  ASSERT_NE(stream, nullptr);
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), stream), text.size());
  std::fclose(stream);

  auto opened = MappedFile::open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto view = opened->bytes();
  EXPECT_EQ(characters(view), text);
  MappedFile moved = std::move(*opened);
  EXPECT_TRUE(opened->bytes().empty());
  EXPECT_EQ(moved.bytes().data(), view.data());
  std::filesystem::remove(path);
  EXPECT_EQ(characters(view), text);

  stream = std::fopen(path.c_str(), "wb");
  ASSERT_NE(stream, nullptr);
  std::fclose(stream);
  auto empty = MappedFile::open(path);
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_TRUE(empty->bytes().empty());
  moved = std::move(*empty);
  EXPECT_TRUE(moved.bytes().empty());
  std::filesystem::remove(path);
}

TEST(MappedFile, RefusesWhatIsNotAFile) {
  const auto folder = std::filesystem::temp_directory_path().string();
  const auto missing = MappedFile::open(folder + "/edgeq no such file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_NE(missing.error().message.find("edgeq no such file"), std::string::npos) << missing.error().message;
  const auto directory = MappedFile::open(folder);
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, ErrorCode::io);
}

}
}
