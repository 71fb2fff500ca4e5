// SPDX-License-Identifier: Apache-2.0
// Reading a hostile header costs memory in proportion to its bytes, whatever it says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "edgeq/import/safetensors.hpp"
#include "safetensors_bytes.hpp"

namespace {

// Of this single-threaded program; the size of a block lies before it.
std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;
constexpr std::size_t prefix = alignof(std::max_align_t);

}

void* operator new(std::size_t size) {
  void* block = std::malloc(size + prefix);
  if (block == nullptr) std::abort();
  *static_cast<std::size_t*>(block) = size;
  live_bytes += size;
  peak_bytes = std::max(peak_bytes, live_bytes);
  return static_cast<char*>(block) + prefix;
}
void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  void* block = static_cast<char*>(pointer) - prefix;
  live_bytes -= *static_cast<std::size_t*>(block);
  std::free(block);
}
void operator delete(void* pointer, std::size_t) noexcept {
  operator delete(pointer);
}

namespace edgeq {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(SafetensorsMemory, IsAtMost16TimesTheHeader) {
  constexpr std::size_t count = 100'000;
  std::string tensors, metadata;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    tensors += (i == 0 ? "" : ",") +
               test::safetensors_entry(name, "U8", "[]", "[" + name + "," + std::to_string(i + 1) + "]");
    metadata += (i == 0 ? "\"" : ",\"") + name + "\":\"\"";
  }
  const std::string headers[] = {
      "{" + tensors + "}",
      "{\"__metadata__\":{" + metadata + "}}",
      R"({"w":{"dtype":"U8","shape":[1)" + repeated(",1", count) + R"(],"data_offsets":[0,1]}})",
      R"({"w":{"dtype":"U8","shape":[],"data_offsets":[0,1],"x":[0)" + repeated(",0", count) + "]}}",
      R"({"w":[{})" + repeated(",{}", count) + "]}",
      R"({"w":")" + std::string(count, 'x') + R"("})",
      "{" + std::string(count, ',') + "}",
      "{" + std::string(count, '[') + "}",
  };
  for (const std::string& header : headers) {
    const std::vector<std::byte> bytes = test::safetensors_bytes(header, std::vector<std::byte>(count));
    const std::size_t before = live_bytes;
    peak_bytes = live_bytes;
    (void)safetensors::File::parse(bytes);
    EXPECT_LE(peak_bytes - before, 16 * header.size()) << header.substr(0, 100);
    EXPECT_EQ(live_bytes, before);
  }
}

}
}
