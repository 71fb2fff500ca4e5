// SPDX-License-Identifier: Apache-2.0
// Packed files are little-endian and used in place: big-endian machines refuse them in words, and every
// machine refuses those of the other order.
#include <gtest/gtest.h>

#include <bit>

#include "edgeq/packed/file.hpp"
#include "edgeq/packed/writer.hpp"
#include "import/temporary_folder.hpp"

namespace {

using namespace edgeq;

constexpr bool is_little_endian = std::endian::native == std::endian::little;

/// The header of a file without entries.
struct EmptyFile {
  alignas(64) std::byte bytes[packed::header_bytes] = {};

  EmptyFile() {
    std::memcpy(bytes, packed::magic.data(), packed::magic.size());
    store_little_endian(bytes + 8, std::uint32_t{1});
    store_little_endian(bytes + 12, std::uint32_t{0x01020304});
    store_little_endian(bytes + 16, std::uint64_t{packed::header_bytes});
    store_little_endian(bytes + 24, std::uint64_t{packed::header_bytes});
  }
  /// The message with which it is refused, or "".
  std::string refusal() const {
    const auto file = packed::File::parse(bytes, nullptr);
    return file ? "" : file.error().message;
  }
};

TEST(PackedByteOrder, LittleEndianFilesOpenOnSuchMachinesOnly) {
  const std::string refusal = EmptyFile().refusal();
  if (is_little_endian)
    EXPECT_EQ(refusal, "");
  else
    EXPECT_NE(refusal.find("this machine is big-endian"), std::string::npos) << refusal;
}

TEST(PackedByteOrder, BigEndianFilesOpenNowhere) {
  EmptyFile file;
  store_little_endian(file.bytes + 8, std::uint32_t{0x01000000});
  store_little_endian(file.bytes + 12, std::uint32_t{0x04030201});
  EXPECT_NE(file.refusal().find("written in the other byte order"), std::string::npos) << file.refusal();
}

TEST(PackedByteOrder, FilesAreWrittenOnLittleEndianMachinesOnly) {
  edgeq::test::TemporaryFolder folder;
  packed::Writer writer;
  const std::byte one[4] = {};
  ASSERT_TRUE(writer.add({"scalar", ElementType::f32, {}, one}));
  const Status status = writer.write(folder.path("weights"));
  EXPECT_EQ(static_cast<bool>(status), is_little_endian);
  EXPECT_EQ(std::filesystem::exists(folder.path("weights")), is_little_endian);
  if (!is_little_endian) {
    EXPECT_EQ(status.error().code, ErrorCode::unsupported);
  }
}

}
