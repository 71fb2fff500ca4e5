// SPDX-License-Identifier: Apache-2.0
// Builds the bytes of safetensors files for tests, from a header as it is given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/number/little_endian.hpp"

namespace edgeq::test {

/// The header's length, or another one in its place, the header and the data.
inline std::vector<std::byte> safetensors_bytes(std::string_view header, std::span<const std::byte> data,
                                                std::uint64_t header_size) {
  std::vector<std::byte> bytes(sizeof header_size + header.size());
  store_little_endian(bytes.data(), header_size);
  std::memcpy(bytes.data() + sizeof header_size, header.data(), header.size());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}
inline std::vector<std::byte> safetensors_bytes(std::string_view header,
                                                std::span<const std::byte> data = {}) {
  return safetensors_bytes(header, data, header.size());
}

/// The entry of a tensor in a header.
inline std::string safetensors_entry(std::string_view name, std::string_view dtype, std::string_view shape,
                                     std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
         "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}";
}

}
