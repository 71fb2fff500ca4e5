// SPDX-License-Identifier: Apache-2.0
// Builds the bytes of GGUF files for tests, well formed unless told otherwise.
#pragma once
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "edgeq/import/gguf.hpp"

namespace edgeq::test {

/// `count` bytes that differ from their neighbours.
inline std::vector<std::byte> pattern(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(37 * i + 11);
  return bytes;
}

/// The bytes that a hexadecimal text spells; blanks are ignored.
inline std::vector<std::byte> from_hex(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') digits += c;
  }
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// Collects metadata and tensors, then writes them in the order in which they were added. Counts, offsets and
/// padding are right; the public members make them wrong.
class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;               ///< what is written; the key is added by `add_alignment`
  std::optional<std::uint64_t> tensor_count;  ///< in place of the number of tensors
  std::optional<std::uint64_t> entry_count;   ///< in place of the number of metadata entries
  bool pad_last_tensor = true;

  /// Appends a number, or the characters of a string after their length, to bytes in a file's order.
  template <class T>
  static void append(std::vector<std::byte>& bytes, T value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes.resize(bytes.size() + sizeof(T));
      store_little_endian(bytes.data() + bytes.size() - sizeof(T), value);
    } else {
      const std::string_view text = value;
      append(bytes, std::uint64_t{text.size()});
      const auto* first = reinterpret_cast<const std::byte*>(text.data());
      bytes.insert(bytes.end(), first, first + text.size());
    }
  }

  /// A number, a bool or a string, stored as the value type of T.
  template <class T>
  void add(std::string_view key, T value) {
    begin_entry(key, type_of<T>());
    append(entries_, value);
  }

  /// An array of them.
  template <class T>
  void add_array(std::string_view key, std::initializer_list<T> values) {
    begin_entry(key, gguf::ValueType::array);
    append(entries_, static_cast<std::uint32_t>(type_of<T>()));
    append(entries_, std::uint64_t{values.size()});
    for (const T& value : values) append(entries_, value);
  }

  /// Any value type, with the bytes of its value as they are.
  void add_raw(std::string_view key, std::uint32_t type, std::span<const std::byte> value) {
    begin_entry(key, gguf::ValueType{type});
    entries_.insert(entries_.end(), value.begin(), value.end());
  }

  /// The key general.alignment, and the alignment of what is written.
  void add_alignment(std::uint32_t bytes) {
    add("general.alignment", bytes);
    alignment = bytes;
  }

  /// A tensor at the next free place, or with the offset that is given.
  void add_tensor(std::string_view name, gguf::TensorType type, std::initializer_list<std::uint64_t> dims,
                  std::span<const std::byte> data, std::optional<std::uint64_t> offset = std::nullopt) {
    tensors_.push_back({std::string(name), type, dims, std::vector(data.begin(), data.end()), offset});
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> file;
    for (const char c : std::string_view("GGUF")) append(file, c);
    append(file, version);
    append(file, tensor_count.value_or(tensors_.size()));
    append(file, entry_count.value_or(entry_count_));
    file.insert(file.end(), entries_.begin(), entries_.end());
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      append(file, tensor.name);
      append(file, static_cast<std::uint32_t>(tensor.dims.size()));
      for (const std::uint64_t dim : tensor.dims) append(file, dim);
      append(file, static_cast<std::uint32_t>(tensor.type));
      append(file, tensor.offset.value_or(offset));
      offset = padded(offset + tensor.data.size());
    }
    for (const Tensor& tensor : tensors_) {
      file.resize(static_cast<std::size_t>(padded(file.size())));
      file.insert(file.end(), tensor.data.begin(), tensor.data.end());
    }
    if (pad_last_tensor) file.resize(static_cast<std::size_t>(padded(file.size())));
    return file;
  }

 private:
  struct Tensor {
    std::string name;
    gguf::TensorType type;
    std::vector<std::uint64_t> dims;
    std::vector<std::byte> data;
    std::optional<std::uint64_t> offset;
  };

  template <class T>
  static constexpr gguf::ValueType type_of() {
    using enum gguf::ValueType;
    if constexpr (std::same_as<T, bool>)
      return boolean;
    else if constexpr (std::same_as<T, float>)
      return f32;
    else if constexpr (std::same_as<T, double>)
      return f64;
    else if constexpr (std::signed_integral<T>)
      return std::array{i8, i16, i32, i64}[std::bit_width(sizeof(T)) - 1];
    else if constexpr (std::integral<T>)
      return std::array{u8, u16, u32, u64}[std::bit_width(sizeof(T)) - 1];
    else
      return string;
  }

  void begin_entry(std::string_view key, gguf::ValueType type) {
    append(entries_, key);
    append(entries_, static_cast<std::uint32_t>(type));
    ++entry_count_;
  }

  std::uint64_t padded(std::uint64_t size) const { return (size + alignment - 1) / alignment * alignment; }

  std::vector<std::byte> entries_;
  std::uint64_t entry_count_ = 0;
  std::vector<Tensor> tensors_;
};

}
