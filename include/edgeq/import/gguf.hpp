// SPDX-License-Identifier: Apache-2.0
// Reads the GGUF container (versions 2 and 3): the metadata and the tensor table of a file's bytes, without
// copying them and without trusting one of them. What the blocks of a tensor mean is not decided here.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/number/little_endian.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

/// How a tensor's elements are stored: the type ids of ggml. The ids that are missing were removed from ggml.
enum class TensorType : std::uint32_t {
  // clang-format off
  f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q5_0 = 6, q5_1 = 7, q8_0 = 8, q8_1 = 9,
  q2_k = 10, q3_k = 11, q4_k = 12, q5_k = 13, q6_k = 14, q8_k = 15,
  iq2_xxs = 16, iq2_xs = 17, iq3_xxs = 18, iq1_s = 19, iq4_nl = 20, iq3_s = 21, iq2_s = 22, iq4_xs = 23,
  i8 = 24, i16 = 25, i32 = 26, i64 = 27, f64 = 28, iq1_m = 29, bf16 = 30,
  tq1_0 = 34, tq2_0 = 35, mxfp4 = 39, nvfp4 = 40, q1_0 = 41, q2_0 = 42,
  // clang-format on
};

/// The name of a tensor type and its unit of storage: `block_elements` consecutive elements of a row take
/// `block_bytes` bytes.
struct TypeInfo {
  std::string_view name;
  std::size_t block_elements = 0;
  std::size_t block_bytes = 0;
};

/// What is known of a type id; nullptr if ggml never had it or removed it.
constexpr const TypeInfo* type_info(TensorType type) noexcept;

/// How a metadata value is stored: the value type ids of GGUF.
enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

namespace detail {

class Parser;

// Indexed by id, no name = removed. The bytes of a block are the sum of its fields (scales, high bits,
// codes).
// clang-format off
inline constexpr std::array<TypeInfo, 43> type_table{{
    {"F32", 1, 4}, {"F16", 1, 2}, {"Q4_0", 32, 2 + 16}, {"Q4_1", 32, 2 + 2 + 16}, {}, {},
    {"Q5_0", 32, 2 + 4 + 16}, {"Q5_1", 32, 2 + 2 + 4 + 16}, {"Q8_0", 32, 2 + 32}, {"Q8_1", 32, 2 + 2 + 32},
    {"Q2_K", 256, 16 + 64 + 2 + 2}, {"Q3_K", 256, 32 + 64 + 12 + 2}, {"Q4_K", 256, 2 + 2 + 12 + 128},
    {"Q5_K", 256, 2 + 2 + 12 + 32 + 128}, {"Q6_K", 256, 128 + 64 + 16 + 2}, {"Q8_K", 256, 4 + 256 + 32},
    {"IQ2_XXS", 256, 2 + 64}, {"IQ2_XS", 256, 2 + 64 + 8}, {"IQ3_XXS", 256, 2 + 96}, {"IQ1_S", 256, 2 + 32 + 16},
    {"IQ4_NL", 32, 2 + 16}, {"IQ3_S", 256, 2 + 64 + 8 + 32 + 4}, {"IQ2_S", 256, 2 + 64 + 8 + 8},
    {"IQ4_XS", 256, 2 + 2 + 4 + 128}, {"I8", 1, 1}, {"I16", 1, 2}, {"I32", 1, 4}, {"I64", 1, 8}, {"F64", 1, 8},
    {"IQ1_M", 256, 32 + 16 + 8}, {"BF16", 1, 2}, {}, {}, {}, {"TQ1_0", 256, 48 + 4 + 2}, {"TQ2_0", 256, 64 + 2},
    {}, {}, {}, {"MXFP4", 32, 1 + 16}, {"NVFP4", 64, 4 + 32}, {"Q1_0", 128, 2 + 16}, {"Q2_0", 64, 2 + 16},
}};
// clang-format on

// The bytes of one scalar; 0 for strings, arrays and unknown ids.
constexpr std::size_t scalar_bytes(ValueType type) noexcept {
  constexpr std::array<std::uint8_t, 13> bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto id = static_cast<std::size_t>(type);
  return id < bytes.size() ? bytes[id] : 0;
}

constexpr bool is_integer(ValueType type) noexcept {
  return type <= ValueType::i32 || type == ValueType::u64 || type == ValueType::i64;
}

template <class To>
std::optional<To> load_integer(ValueType type, const std::byte* bytes) noexcept {
  const auto convert = [](auto value) -> std::optional<To> {
    if (!std::in_range<To>(value)) return std::nullopt;
    return static_cast<To>(value);
  };
  switch (type) {
    case ValueType::u8:
      return convert(load_little_endian<std::uint8_t>(bytes));
    case ValueType::i8:
      return convert(load_little_endian<std::int8_t>(bytes));
    case ValueType::u16:
      return convert(load_little_endian<std::uint16_t>(bytes));
    case ValueType::i16:
      return convert(load_little_endian<std::int16_t>(bytes));
    case ValueType::u32:
      return convert(load_little_endian<std::uint32_t>(bytes));
    case ValueType::i32:
      return convert(load_little_endian<std::int32_t>(bytes));
    case ValueType::u64:
      return convert(load_little_endian<std::uint64_t>(bytes));
    case ValueType::i64:
      return convert(load_little_endian<std::int64_t>(bytes));
    default:
      return std::nullopt;
  }
}

}

constexpr const TypeInfo* type_info(TensorType type) noexcept {
  const auto id = static_cast<std::size_t>(type);
  if (id >= detail::type_table.size() || detail::type_table[id].name.empty()) return nullptr;
  return &detail::type_table[id];
}

/// One metadata value: a scalar, a string or an array of them. Each accessor returns nullopt if the value is
/// of another kind. A view of the file's bytes.
class Value {
 public:
  ValueType type() const noexcept { return type_; }
  /// An integer of any width and sign, if it is in the range of the result.
  std::optional<std::uint64_t> as_u64() const noexcept {
    return detail::load_integer<std::uint64_t>(type_, bytes_.data());
  }
  /// An integer of any width and sign, if it is in the range of the result.
  std::optional<std::int64_t> as_i64() const noexcept {
    return detail::load_integer<std::int64_t>(type_, bytes_.data());
  }
  /// An f32 or f64; an integer is not converted.
  std::optional<double> as_f64() const noexcept {
    if (type_ == ValueType::f32) return static_cast<double>(load_little_endian<float>(bytes_.data()));
    if (type_ == ValueType::f64) return load_little_endian<double>(bytes_.data());
    return std::nullopt;
  }
  /// A bool; every byte but 0 is true.
  std::optional<bool> as_bool() const noexcept {
    if (type_ != ValueType::boolean) return std::nullopt;
    return bytes_[0] != std::byte{0};
  }
  /// A string, with whatever bytes the file has: neither UTF-8 nor the absence of NUL is checked.
  std::optional<std::string_view> as_string() const noexcept {
    if (type_ != ValueType::string) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  }

  /// The number of elements of an array.
  std::optional<std::size_t> array_size() const noexcept {
    return type_ == ValueType::array ? std::optional(count_) : std::nullopt;
  }
  /// The type of an array's elements; never `array`.
  std::optional<ValueType> element_type() const noexcept {
    return type_ == ValueType::array ? std::optional(element_) : std::nullopt;
  }
  /// An array of strings: views of the file's bytes.
  std::optional<std::vector<std::string_view>> as_strings() const {
    if (type_ != ValueType::array || element_ != ValueType::string) return std::nullopt;
    std::vector<std::string_view> strings;
    strings.reserve(count_);
    auto rest = bytes_;
    // The lengths were checked when the file was parsed. A mapped file may have been written to since.
    for (std::size_t i = 0; i < count_; ++i) {
      if (rest.size() < sizeof(std::uint64_t)) return std::nullopt;
      const auto length = load_little_endian<std::uint64_t>(rest.data());
      rest = rest.subspan(sizeof(std::uint64_t));
      if (length > rest.size()) return std::nullopt;
      strings.emplace_back(reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(length));
      rest = rest.subspan(static_cast<std::size_t>(length));
    }
    return strings;
  }
  /// An array of f32.
  std::optional<std::vector<float>> as_f32s() const {
    if (type_ != ValueType::array || element_ != ValueType::f32) return std::nullopt;
    std::vector<float> values(count_);
    for (std::size_t i = 0; i < count_; ++i)
      values[i] = load_little_endian<float>(&bytes_[i * sizeof(float)]);
    return values;
  }
  /// An array of integers of any width and sign, if each is in the range of the result.
  std::optional<std::vector<std::int64_t>> as_i64s() const {
    if (type_ != ValueType::array || !detail::is_integer(element_)) return std::nullopt;
    std::vector<std::int64_t> values(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const auto* element = &bytes_[i * detail::scalar_bytes(element_)];
      const auto value = detail::load_integer<std::int64_t>(element_, element);
      if (!value) return std::nullopt;
      values[i] = *value;
    }
    return values;
  }

 private:
  friend class detail::Parser;
  Value(ValueType type, ValueType element, std::size_t count, std::span<const std::byte> bytes) noexcept
      : type_(type), element_(element), count_(count), bytes_(bytes) {}

  ValueType type_;
  ValueType element_;                 // of an array
  std::size_t count_;                 // of an array
  std::span<const std::byte> bytes_;  // the scalar, the characters, or the elements as they lie in the file
};

/// A key of the metadata and its value.
struct Entry {
  std::string_view key;
  Value value;
};

/// One tensor of the file: `rows()` x `columns()` elements, row major. A view of the file's bytes, at any
/// address: load its fields by load_little_endian.
struct Tensor {
  std::string_view name;
  TensorType type = TensorType::f32;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  ///< dims[0] is the fastest; those past the rank are 1
  std::uint32_t rank = 0;                         ///< 0 to 4
  std::span<const std::byte> data;                ///< rows() * columns() / block_elements * block_bytes bytes

  /// K, the elements of one row: a multiple of the type's block.
  std::size_t columns() const noexcept { return static_cast<std::size_t>(dims[0]); }
  /// N, the product of the other dimensions.
  std::size_t rows() const noexcept { return static_cast<std::size_t>(dims[1] * dims[2] * dims[3]); }
};

/// A parsed GGUF file. It views the bytes that were parsed: the caller keeps them, unchanged, for as long as
/// he uses the File or anything that it returned. It can be moved; views and pointers then stay valid.
class File {
 public:
  /// Checks everything but the contents of the tensors, in memory of at most 5 times the size of the bytes.
  ///
  /// invalid_file: the bytes break a rule of the format. unsupported: version 1, a big-endian file, arrays of
  /// arrays, a tensor type that is unknown or was removed from ggml. too_large: a string or an array of more
  /// than 2^30, a tensor of 2^63 elements or more. Tolerated: a bool byte that is neither 0 nor 1 is true;
  /// the padding after the last tensor may be missing; a dimension of 0 makes a tensor without data.
  static Result<File> parse(std::span<const std::byte> bytes);

  /// The value of a key, in O(log n); nullptr if there is none.
  const Value* find(std::string_view key) const noexcept {
    const Entry* entry = lookup(entries_, entry_order_, &Entry::key, key);
    return entry == nullptr ? nullptr : &entry->value;
  }
  /// A tensor by its name, in O(log n); nullptr if there is none.
  const Tensor* tensor(std::string_view name) const noexcept {
    return lookup(tensors_, tensor_order_, &Tensor::name, name);
  }
  /// The metadata in file order.
  std::span<const Entry> metadata() const noexcept { return entries_; }
  /// The tensors in file order.
  std::span<const Tensor> tensors() const noexcept { return tensors_; }
  /// More than 1 if the model is split and this file is one part of it (key split.count; 1 if there is none).
  std::uint64_t split_count() const noexcept { return split_count_; }

 private:
  friend class detail::Parser;
  File() = default;

  template <class Item>
  static const Item* lookup(const std::vector<Item>& items, const std::vector<std::size_t>& order,
                            std::string_view Item::*member, std::string_view name) noexcept {
    const auto before = [&](std::size_t i, std::string_view wanted) { return items[i].*member < wanted; };
    const auto found = std::lower_bound(order.begin(), order.end(), name, before);
    return found != order.end() && items[*found].*member == name ? &items[*found] : nullptr;
  }

  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::vector<std::size_t> entry_order_;   // indices of entries_, sorted by key
  std::vector<std::size_t> tensor_order_;  // indices of tensors_, sorted by name
  std::uint64_t split_count_ = 1;
};

}

#include "edgeq/import/gguf_parser.hpp"
