// SPDX-License-Identifier: Apache-2.0
// The walk over the bytes of a GGUF file behind gguf::File::parse: every check, each with its sentence. Users
// include edgeq/import/gguf.hpp.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/gguf.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf::detail {

// The file, all little-endian and without any padding before the data:
//   "GGUF", u32 version, u64 tensor count, u64 metadata count
//   metadata: string key, u32 value type, value      (string: u64 length, characters)
//   tensors:  string name, u32 rank, u64 dims[rank], u32 type, u64 offset from the start of the data
//   zeros up to a multiple of the alignment, then the tensors' data, each padded to the alignment
class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  Result<File> parse() {
    File file;
    read_header();
    read_metadata(file);
    read_settings(file);
    read_tensor_table(file);
    place_tensors(file);
    if (error_) return *std::move(error_);
    return file;
  }

 private:
  static constexpr std::uint64_t max_length = std::uint64_t{1} << 30;  // of strings and arrays, as in ggml
  static constexpr std::size_t max_name = 63;                          // ggml: 64 bytes with the closing NUL
  static constexpr std::uint64_t max_size = std::numeric_limits<std::size_t>::max();
  // ggml counts elements in a signed 64-bit number.
  static constexpr std::uint64_t max_elements =
      std::min<std::uint64_t>(std::numeric_limits<std::int64_t>::max(), max_size);
  static constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

  struct Extent {
    std::uint64_t offset = 0;  // from the start of the data, as the file says
    std::uint64_t bytes = 0;
  };

  // Says what is being read, for the error messages.
  void enter(std::string_view what, std::size_t index = no_index, std::string_view name = {}) noexcept {
    what_ = what;
    index_ = index;
    name_ = name;
  }

  // Keeps the first error and leaves nothing to read, so that every loop ends at once.
  void fail(ErrorCode code, const std::string& found_and_rule) {
    if (error_) return;
    std::string message = "GGUF " + std::string(what_);
    if (!name_.empty()) {
      message += " " + in_quotes(name_);
    } else if (index_ != no_index) {
      message += " " + std::to_string(index_);
    }
    error_ = Error{code, message + ": " + found_and_rule};
    position_ = bytes_.size();
  }

  static std::string_view characters(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::uint64_t left() const noexcept { return bytes_.size() - position_; }

  std::span<const std::byte> take(std::uint64_t count) {
    if (error_) return {};
    if (count > left()) {
      fail(ErrorCode::invalid_file, "the file ends inside it, " + std::to_string(count) +
                                        " more bytes are needed and " + std::to_string(left()) + " are left");
      return {};
    }
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

  template <class T>
  T read() {
    const auto taken = take(sizeof(T));
    return taken.empty() ? T{} : load_little_endian<T>(taken.data());
  }

  std::span<const std::byte> read_string() {
    const auto length = read<std::uint64_t>();
    if (length > max_length) {
      fail(ErrorCode::too_large, "a string has " + std::to_string(length) + " bytes, the limit is 2^30");
    }
    return take(length);
  }

  void read_header() {
    enter("header");
    const auto magic = characters(take(4));
    if (magic != "GGUF") {
      fail(ErrorCode::invalid_file,
           "the file starts with " + in_quotes(magic) + ", it must start with \"GGUF\"");
    }
    const auto version = read<std::uint32_t>();
    if (version == 1) {
      fail(ErrorCode::unsupported, "version is 1, which has 32-bit counts; only versions 2 and 3 are read");
    } else if (version != 0 && (version & 0xFFFF) == 0) {
      fail(ErrorCode::unsupported,
           "the version's bytes are reversed: the file is big-endian; only little-endian files are read");
    } else if (version != 2 && version != 3) {
      fail(ErrorCode::unsupported,
           "version is " + std::to_string(version) + "; only versions 2 and 3 are read");
    }
    tensor_count_ = read<std::uint64_t>();
    entry_count_ = read<std::uint64_t>();
  }

  // Memory is reserved only for as many items as the bytes that are left can hold.
  std::size_t checked_count(std::string_view name, std::uint64_t count, std::uint64_t smallest_item) {
    enter("header");
    const std::uint64_t most = left() / smallest_item;
    if (count > most) {
      fail(ErrorCode::invalid_file, std::string(name) + " is " + std::to_string(count) + ", but the " +
                                        std::to_string(left()) + " bytes that follow hold at most " +
                                        std::to_string(most));
    }
    return error_ ? 0 : static_cast<std::size_t>(count);
  }

  void read_metadata(File& file) {
    // The smallest entry: a key of one character, the type, one byte.
    const auto count = checked_count("kv_count", entry_count_, (8 + 1) + 4 + 1);
    file.entries_.reserve(count);
    for (std::size_t i = 0; i < count && !error_; ++i) {
      enter("metadata entry", i);
      const auto key = characters(read_string());
      if (key.empty()) fail(ErrorCode::invalid_file, "the key is empty");
      enter("metadata entry", i, key);
      file.entries_.push_back({key, read_value()});
    }
    file.entry_order_ = sorted_unique(file.entries_, &Entry::key, "metadata entry");
  }

  Value read_value() {
    const auto type = ValueType{read<std::uint32_t>()};
    if (type == ValueType::string) return Value(type, type, 0, read_string());
    if (type != ValueType::array) return Value(type, type, 0, read_scalars(type, 1));
    const auto element = ValueType{read<std::uint32_t>()};
    const auto count = read<std::uint64_t>();
    if (count > max_length) {
      fail(ErrorCode::too_large, "an array has " + std::to_string(count) + " elements, the limit is 2^30");
    }
    if (element == ValueType::array)
      fail(ErrorCode::unsupported, "the array's elements are arrays; only flat arrays are read");
    const auto size = static_cast<std::size_t>(count);
    if (element != ValueType::string) return Value(type, element, size, read_scalars(element, count));
    const std::size_t begin = position_;
    for (std::size_t i = 0; i < size && !error_; ++i) read_string();
    return Value(type, element, size, error_ ? bytes_.first(0) : bytes_.subspan(begin, position_ - begin));
  }

  std::span<const std::byte> read_scalars(ValueType type, std::uint64_t count) {
    if (scalar_bytes(type) == 0) {
      fail(ErrorCode::invalid_file,
           "the value type is " + std::to_string(static_cast<std::uint32_t>(type)) + ", it must be 0 to 12");
    }
    return take(count * scalar_bytes(type));
  }

  // The two keys that say how to read the rest.
  void read_settings(File& file) {
    if (error_) return;
    if (const Value* value = file.find("general.alignment")) {
      enter("metadata entry", no_index, "general.alignment");
      if (value->type() != ValueType::u32) {
        fail(ErrorCode::invalid_file, "the value type is " +
                                          std::to_string(static_cast<std::uint32_t>(value->type())) +
                                          ", it must be 4 (u32)");
        return;
      }
      alignment_ = *value->as_u64();
      if (!std::has_single_bit(alignment_)) {
        fail(ErrorCode::invalid_file,
             "the alignment is " + std::to_string(alignment_) + ", it must be a power of two");
      }
    }
    if (const Value* value = file.find("split.count")) {
      enter("metadata entry", no_index, "split.count");
      const auto count = value->as_u64();
      if (!count) fail(ErrorCode::invalid_file, "the value is not an integer of at least 0");
      file.split_count_ = count.value_or(1);
    }
  }

  void read_tensor_table(File& file) {
    // The smallest tensor: no name, rank 0, type, offset.
    const auto count = checked_count("tensor_count", tensor_count_, 8 + 4 + 4 + 8);
    file.tensors_.reserve(count);
    extents_.reserve(count);
    for (std::size_t i = 0; i < count && !error_; ++i) {
      enter("tensor", i);
      file.tensors_.push_back(read_tensor());
    }
    file.tensor_order_ = sorted_unique(file.tensors_, &Tensor::name, "tensor");
  }

  Tensor read_tensor() {
    Tensor tensor;
    tensor.name = characters(read_string());
    enter("tensor", index_, tensor.name);
    if (tensor.name.size() > max_name) {
      fail(ErrorCode::invalid_file,
           "the name has " + std::to_string(tensor.name.size()) + " bytes, it must have fewer than 64");
    }
    tensor.rank = read<std::uint32_t>();
    if (tensor.rank > tensor.dims.size()) {
      fail(ErrorCode::invalid_file, "n_dims is " + std::to_string(tensor.rank) + ", it must be at most 4");
      return tensor;
    }
    for (std::uint32_t d = 0; d < tensor.rank; ++d) tensor.dims[d] = read<std::uint64_t>();
    tensor.type = TensorType{read<std::uint32_t>()};
    const auto offset = read<std::uint64_t>();
    if (!error_) extents_.push_back({offset, data_bytes(tensor)});
    return tensor;
  }

  // The bytes of a tensor, whose type and shape are checked here.
  std::uint64_t data_bytes(const Tensor& tensor) {
    const TypeInfo* info = type_info(tensor.type);
    if (info == nullptr) {
      fail(ErrorCode::unsupported, "the type id is " +
                                       std::to_string(static_cast<std::uint32_t>(tensor.type)) +
                                       ", which is unknown or was removed from ggml");
      return 0;
    }
    // Dimensions of 0 are left out: no product of some of the dimensions may overflow, rows() among them.
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : tensor.dims) {
      if (dim == 0) continue;
      if (dim > max_elements / elements) {
        std::string shape = std::to_string(tensor.dims[0]);
        for (std::uint32_t d = 1; d < tensor.rank; ++d) shape += " x " + std::to_string(tensor.dims[d]);
        fail(ErrorCode::too_large, "the dims are " + shape +
                                       ", the product of those that are not 0 must be at most " +
                                       std::to_string(max_elements));
        return 0;
      }
      elements *= dim;
    }
    if (tensor.dims[0] % info->block_elements != 0) {
      fail(ErrorCode::invalid_file, "dims[0] is " + std::to_string(tensor.dims[0]) +
                                        ", it must be a multiple of " + std::to_string(info->block_elements) +
                                        ", the block of " + std::string(info->name));
      return 0;
    }
    // Blocks first: elements times bytes may wrap to a small number.
    const std::uint64_t blocks = tensor.dims[0] / info->block_elements * tensor.rows();
    if (blocks > max_size / info->block_bytes) {
      fail(ErrorCode::too_large, std::to_string(blocks) + " blocks of " + std::to_string(info->block_bytes) +
                                     " bytes do not fit the address space");
      return 0;
    }
    return blocks * info->block_bytes;
  }

  void place_tensors(File& file) {
    if (error_) return;
    // No sum wraps: each stays below the file's size plus two alignments, which are less than 2^32.
    const std::uint64_t data_start = padded(position_);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < file.tensors_.size(); ++i) {
      const auto [offset, bytes] = extents_[i];
      enter("tensor", i, file.tensors_[i].name);
      if (offset != expected) {
        fail(ErrorCode::invalid_file, "the offset is " + std::to_string(offset) + ", it must be " +
                                          std::to_string(expected) +
                                          ", where the padded data of the tensors before it ends");
        return;
      }
      if (bytes == 0) continue;
      const std::uint64_t begin = data_start + expected;
      const std::uint64_t available = bytes_.size() - std::min<std::uint64_t>(begin, bytes_.size());
      if (bytes > available) {
        fail(ErrorCode::invalid_file, "the data has " + std::to_string(bytes) + " bytes and starts at byte " +
                                          std::to_string(begin) + ", where the file has " +
                                          std::to_string(available) + " left");
        return;
      }
      file.tensors_[i].data =
          bytes_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
      expected = padded(expected + bytes);
    }
  }

  std::uint64_t padded(std::uint64_t size) const noexcept {
    return (size + alignment_ - 1) & ~(alignment_ - 1);
  }

  // The indices of the items in the order of their names, none of which may occur twice. Sorting finds equal
  // names in O(n log n), whatever the names are.
  template <class Item>
  std::vector<std::size_t> sorted_unique(const std::vector<Item>& items, std::string_view Item::*name,
                                         std::string_view what) {
    std::vector<std::size_t> order;
    if (error_) return order;
    order.resize(items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto name_of = [&](std::size_t i) { return items[i].*name; };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return name_of(a) < name_of(b); });
    const auto twice = std::adjacent_find(
        order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name_of(a) == name_of(b); });
    if (twice != order.end()) {
      enter(what, *twice, name_of(*twice));
      fail(ErrorCode::invalid_file, "the file has more than one of this name");
    }
    return order;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t entry_count_ = 0;
  std::uint64_t alignment_ = 32;  // GGUF's default
  std::vector<Extent> extents_;   // of the tensors, in file order
  std::string_view what_;
  std::size_t index_ = no_index;
  std::string_view name_;
  std::optional<Error> error_;
};

}

namespace edgeq::inline EDGEQ_BASELINE::gguf {

inline Result<File> File::parse(std::span<const std::byte> bytes) {
  return detail::Parser(bytes).parse();
}

}
