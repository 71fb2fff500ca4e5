// SPDX-License-Identifier: Apache-2.0
// One tensor of a packed file, as its index describes it. README.md in this folder is the description of the
// whole file.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "edgeq/format/codec.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::packed {

/// Panels, biases and orders are little-endian and used where they lie in the file, so only such machines can
/// write or open one.
inline constexpr bool has_byte_order_of_files = std::endian::native == std::endian::little;
/// Why others cannot.
inline Error wrong_byte_order() {
  return Error{ErrorCode::unsupported,
               "packed file: its parts are little-endian and used in place; this machine is big-endian"};
}

inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'E', 'Q', 'P', 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::uint32_t version = 1, byte_order = 0x01020304, swapped_byte_order = 0x04030201;
inline constexpr std::size_t header_bytes = 64, entry_bytes = 96, longest_name = 4096, longest_format = 256;

/// How the data of an entry lie.
enum class Layout : std::uint32_t {
  elements = 0,  ///< row-major elements of a type of safetensors
  panels = 1,    ///< panels of 16 columns, as kernels read them
};

/// A part of the file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// An entry of the index. Names and parts view the file's bytes.
struct Entry {
  std::string_view name;
  std::string_view format;  ///< Format::name(), or an element type
  Layout layout = Layout::elements;
  std::size_t n = 0, k = 0;
  std::size_t group = 0;
  std::span<const std::byte> data;
  std::span<const float> bias;           ///< [N padded to 16], or empty
  std::span<const std::uint32_t> order;  ///< see WeightShape, or empty
  std::uint64_t checksum = 0;            ///< of data, bias and order
};

/// The header's fields behind the byte order.
struct Header {
  std::uint64_t file_size = 0;
  std::uint64_t index_offset = header_bytes;
  std::uint64_t index_size = 0;
  std::uint64_t entries = 0;
  std::uint64_t index_checksum = 0;
};

/// The fixed part of an entry, as it stands in the file.
struct StoredEntry {
  std::uint32_t name_size = 0, format_size = 0;
  std::uint32_t layout = 0, reserved = 0;
  std::uint64_t n = 0, k = 0, group = 0;
  Extent data, bias, order;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(StoredEntry) == entry_bytes && sizeof(Header) == 40);

/// The bytes of an entry in the index, its names and padding included.
constexpr std::size_t stored_size(std::size_t name_size, std::size_t format_size) noexcept {
  return entry_bytes + (name_size + format_size + 7) / 8 * 8;
}

}
