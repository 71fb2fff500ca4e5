// SPDX-License-Identifier: Apache-2.0
// The rules of a safetensors header, for files that are read and for those that are written. Users include
// edgeq/import/safetensors.hpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/json.hpp"
#include "edgeq/import/safetensors.hpp"
#include "edgeq/import/tensor.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::safetensors::detail {

inline constexpr std::size_t max_header = json::max_text;
inline constexpr std::string_view metadata_key = "__metadata__";

inline std::string describe(ElementType type, const std::vector<std::size_t>& shape) {
  std::string text = std::string(element_info(type).name) + " [";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

inline Error tensor_error(std::string_view name, ErrorCode code, const std::string& found_and_rule) {
  return Error{code, "safetensors tensor " + in_quotes(name) + ": " + found_and_rule};
}

// The bytes of a tensor; its name is for messages.
inline Result<std::size_t> data_bytes(std::string_view name, ElementType type,
                                      const std::vector<std::size_t>& shape) {
  // Extents of 0 are left out: no product of some of the extents may overflow.
  std::size_t bits = element_info(type).bits;
  bool empty = false;
  for (const std::size_t extent : shape) {
    empty |= extent == 0;
    if (extent == 0) continue;
    if (extent > std::numeric_limits<std::size_t>::max() / bits) {
      return tensor_error(name, ErrorCode::too_large, "no size holds the bits of " + describe(type, shape));
    }
    bits *= extent;
  }
  if (empty) return std::size_t{0};
  if (bits % 8 != 0) {
    return tensor_error(
        name, ErrorCode::invalid_file,
        describe(type, shape) + " has " + std::to_string(bits) + " bits, it must have whole bytes");
  }
  return bits / 8;
}

class HeaderParser {
 public:
  // `data_size` is the size of all data.
  HeaderParser(std::string_view text, std::size_t data_size) noexcept : text_(text), data_size_(data_size) {}

  Result<Header> parse() {
    if (!text_.starts_with('{')) {
      return Error{ErrorCode::invalid_file, "safetensors header: it begins with " +
                                                in_quotes(text_.substr(0, 1)) + ", it must begin with \"{\""};
    }
    if (const std::string_view last = text_.substr(text_.find_last_not_of(' '), 1); last != "}") {
      return Error{ErrorCode::invalid_file, "safetensors header: it ends with " + in_quotes(last) +
                                                ", it must end with \"}\" and spaces"};
    }
    auto document = json::Document::parse(text_, "safetensors header");
    if (!document) return document.error();
    for (const auto& [name, value] : document->root().members()) {
      if (auto status = name == metadata_key ? read_metadata(value) : read_tensor(name, value); !status)
        return status.error();
    }
    if (auto status = place_tensors(); !status) return status.error();
    header_.characters = std::move(*document).take_characters();
    return std::move(header_);
  }

 private:
  struct Entry {
    CheckpointTensor tensor;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  Status read_metadata(json::Value value) {
    if (!value.is_object()) {
      return Error{ErrorCode::invalid_file, "safetensors __metadata__: it must be an object of strings"};
    }
    for (const auto& [key, text] : value.members()) {
      if (!text.as_string()) {
        return Error{ErrorCode::invalid_file,
                     "safetensors __metadata__: the value of " + in_quotes(key) + " must be a string"};
      }
      header_.metadata.push_back({key, *text.as_string()});
    }
    return success();
  }

  Status read_tensor(std::string_view name, json::Value value) {
    const auto invalid = [&](const std::string& found_and_rule) {
      return tensor_error(name, ErrorCode::invalid_file, found_and_rule);
    };
    if (!value.is_object()) return invalid("its value must be an object");
    const auto dtype = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");

    const auto type_name = dtype ? dtype->as_string() : std::nullopt;
    if (!type_name) return invalid("dtype must be a string");
    const auto type = element_type(*type_name);
    if (!type) {
      return tensor_error(name, ErrorCode::unsupported,
                          "dtype is " + in_quotes(*type_name) + ", which safetensors does not have");
    }
    auto extents = shape ? sizes(*shape) : std::nullopt;
    if (!extents) return invalid("shape must be an array of integers of at least 0 that fit a size");
    const auto span = offsets ? sizes(*offsets) : std::nullopt;
    if (!span || span->size() != 2)
      return invalid("data_offsets must be two integers of at least 0 that fit a size");

    const std::size_t begin = (*span)[0], end = (*span)[1];
    const std::string found = "data_offsets are [" + std::to_string(begin) + ", " + std::to_string(end) + "]";
    if (end < begin) return invalid(found + ", the end must not lie before the begin");
    const auto bytes = data_bytes(name, *type, *extents);
    if (!bytes) return bytes.error();
    if (end - begin != *bytes) {
      return invalid(found + ", but " + describe(*type, *extents) + " needs " + std::to_string(*bytes) +
                     " bytes");
    }
    entries_.push_back({{name, *type, *std::move(extents), {}}, begin, end});
    return success();
  }

  static std::optional<ElementType> element_type(std::string_view name) noexcept {
    for (auto i = ElementType::boolean; i <= ElementType::f6_e3m2;
         i = ElementType{static_cast<std::uint8_t>(static_cast<unsigned>(i) + 1)}) {
      if (element_info(i).name == name) return i;
    }
    return std::nullopt;
  }

  static std::optional<std::vector<std::size_t>> sizes(json::Value value) {
    if (!value.is_array()) return std::nullopt;
    std::vector<std::size_t> result;
    for (const json::Value item : value.items()) {
      const auto number = item.as_u64();
      if (!number || !std::in_range<std::size_t>(*number)) return std::nullopt;
      result.push_back(static_cast<std::size_t>(*number));
    }
    return result;
  }

  // The data must be covered without gap, overlap or rest.
  Status place_tensors() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    header_.tensors.reserve(entries_.size());
    header_.ends.reserve(entries_.size());
    std::size_t expected = 0;
    for (Entry& entry : entries_) {
      if (entry.begin != expected) {
        return tensor_error(entry.tensor.name, ErrorCode::invalid_file,
                            "its data begins at " + std::to_string(entry.begin) + ", it must begin at " +
                                std::to_string(expected) + ", where the data before it ends");
      }
      if (entry.end > data_size_) {
        return tensor_error(entry.tensor.name, ErrorCode::invalid_file,
                            "its data ends at " + std::to_string(entry.end) + ", but the file has " +
                                std::to_string(data_size_) + " bytes of data");
      }
      expected = entry.end;
      header_.tensors.push_back(std::move(entry.tensor));
      header_.ends.push_back(entry.end);
    }
    if (expected != data_size_) {
      return Error{ErrorCode::invalid_file, "safetensors file: it has " + std::to_string(data_size_) +
                                                " bytes of data, its tensors have " +
                                                std::to_string(expected) +
                                                "; nothing may follow the last tensor"};
    }
    return success();
  }

  std::string_view text_;
  std::size_t data_size_;
  std::vector<Entry> entries_;
  Header header_;
};

}

namespace edgeq::inline EDGEQ_BASELINE::safetensors {

inline Result<File> File::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) {
    return Error{ErrorCode::invalid_file, "safetensors file: it has " + std::to_string(bytes.size()) +
                                              " bytes, it must have at least 8"};
  }
  const auto header_size = load_little_endian<std::uint64_t>(bytes.data());
  bytes = bytes.subspan(sizeof header_size);
  if (header_size > detail::max_header) {
    return Error{ErrorCode::too_large, "safetensors header: it has " + std::to_string(header_size) +
                                           " bytes, the limit is " + std::to_string(detail::max_header)};
  }
  if (header_size > bytes.size()) {
    return Error{ErrorCode::invalid_file, "safetensors header: it has " + std::to_string(header_size) +
                                              " bytes, but the file has " + std::to_string(bytes.size()) +
                                              " left"};
  }
  const auto text = bytes.first(static_cast<std::size_t>(header_size));
  const auto data = bytes.subspan(text.size());
  auto header =
      detail::HeaderParser({reinterpret_cast<const char*>(text.data()), text.size()}, data.size()).parse();
  if (!header) return header.error();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < header->tensors.size(); ++i) {
    header->tensors[i].data = data.subspan(begin, header->ends[i] - begin);
    begin = header->ends[i];
  }
  File file;
  file.characters_ = std::move(header->characters);
  file.metadata_ = std::move(header->metadata);
  file.table_ = detail::TensorTable(std::move(header->tensors));
  return file;
}

}
