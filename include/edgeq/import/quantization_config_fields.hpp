// SPDX-License-Identifier: Apache-2.0
// The reading of single fields of a quantization config. Users include edgeq/import/quantization_config.hpp.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/json.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::detail {

// Reads fields of objects and keeps the first error. A null is as good as no field; the first of several keys
// that is there counts, and the first of them is the one that messages name.
class QuantizationConfigFields {
 protected:
  using Keys = std::initializer_list<std::string_view>;

  void fail(ErrorCode code, const std::string& found_and_rule) {
    if (!error_) error_ = Error{code, "quantization config: " + found_and_rule};
  }
  void refuse(std::string_view key, std::string_view value, const std::string& rule) {
    fail(ErrorCode::unsupported, std::string(key) + " is " + in_quotes(value) + ", " + rule);
  }

  static std::optional<json::Value> field(json::Value object, Keys keys) {
    for (const std::string_view key : keys) {
      const auto value = object.find(key);
      if (value && !value->is_null()) return value;
    }
    return std::nullopt;
  }
  template <class T>
  T checked(Keys keys, const std::optional<json::Value>& value, std::optional<T> content,
            std::string_view kind, T otherwise) {
    if (value && !content) {
      fail(ErrorCode::invalid_file, std::string(*keys.begin()) + " must be " + std::string(kind));
    }
    return content.value_or(otherwise);
  }
  bool boolean(json::Value object, Keys keys, bool otherwise) {
    const auto value = field(object, keys);
    return checked(keys, value, value ? value->as_bool() : std::nullopt, "true or false", otherwise);
  }
  std::int64_t integer(json::Value object, Keys keys, std::int64_t otherwise) {
    const auto value = field(object, keys);
    return checked(keys, value, value ? value->as_i64() : std::nullopt, "an integer", otherwise);
  }
  std::string_view text(json::Value object, Keys keys, std::string_view otherwise = "") {
    const auto value = field(object, keys);
    return checked(keys, value, value ? value->as_string() : std::nullopt, "a string", otherwise);
  }
  // An array of strings, or one string.
  std::vector<std::string_view> strings(json::Value value, std::string_view key) {
    if (const auto one = value.as_string()) return {*one};
    std::vector<std::string_view> result;
    bool valid = value.is_array();
    for (const json::Value item : value.items()) {
      valid &= item.as_string().has_value();
      result.push_back(item.as_string().value_or(""));
    }
    if (!valid) fail(ErrorCode::invalid_file, std::string(key) + " must be an array of strings");
    return result;
  }
  std::vector<std::string_view> texts(json::Value object, std::string_view key) {
    const auto value = field(object, {key});
    return value ? strings(*value, key) : std::vector<std::string_view>();
  }
  // -1 stands for all of K.
  std::size_t group_size(json::Value object, std::int64_t otherwise) {
    const std::int64_t size = integer(object, {"group_size", "q_group_size"}, otherwise);
    if (size == -1) return 0;
    if (size < 1 || !std::in_range<std::size_t>(size)) {
      fail(ErrorCode::invalid_file,
           "group_size is " + std::to_string(size) + ", it must be -1 or at least 1");
    }
    return static_cast<std::size_t>(size);
  }
  unsigned bits(json::Value object, Keys keys, std::int64_t otherwise, std::initializer_list<unsigned> known,
                std::string_view method) {
    const std::int64_t found = integer(object, keys, otherwise);
    for (const unsigned width : known)
      if (found == width) return width;
    fail(ErrorCode::unsupported, std::string(*keys.begin()) + " is " + std::to_string(found) + ", which " +
                                     std::string(method) + " is not read with");
    return 0;
  }
  // [rows, columns], or "rowsxcolumns" as a string.
  std::optional<std::array<std::size_t, 2>> block(json::Value object, Keys keys) {
    const auto value = field(object, keys);
    if (!value) return std::nullopt;
    std::vector<std::size_t> extents;
    for (const json::Value item : value->items()) {
      const auto extent = item.as_u64();
      const bool fits = extent && std::in_range<std::size_t>(*extent);
      extents.push_back(fits ? static_cast<std::size_t>(*extent) : 0);
    }
    if (const auto spelled = value->as_string()) {
      const std::size_t x = std::min(spelled->find('x'), spelled->size());
      extents = {number(spelled->substr(0, x)), number(spelled->substr(std::min(x + 1, spelled->size())))};
    }
    if (extents.size() != 2 || extents[0] == 0 || extents[1] == 0) {
      fail(ErrorCode::invalid_file, std::string(*keys.begin()) + " must be two integers of at least 1");
      return std::nullopt;
    }
    return std::array{extents[0], extents[1]};
  }
  // 0 if the text is anything else.
  static std::size_t number(std::string_view text) noexcept {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
  }

  std::optional<Error> error_;
};

}
