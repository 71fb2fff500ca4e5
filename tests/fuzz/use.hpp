// SPDX-License-Identifier: Apache-2.0
// What fuzz targets do with what a reader accepts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace edgeq::test {

/// Ends the program, which libFuzzer reports, unless the condition holds.
inline void check(bool condition) {
  if (!condition) std::abort();
}

/// Reads all of a view, so that a sanitizer sees one that leaves the file.
inline std::uint64_t sum(std::span<const std::byte> bytes) {
  std::uint64_t total = 0;
  for (const std::byte b : bytes) total += std::to_integer<std::uint64_t>(b);
  return total;
}
inline std::uint64_t sum(std::string_view text) {
  return sum(std::as_bytes(std::span(text.data(), text.size())));
}

/// Keeps the loads that made a sum.
inline void keep(std::uint64_t total) {
  volatile std::uint64_t used = total;
  (void)used;
}

}
