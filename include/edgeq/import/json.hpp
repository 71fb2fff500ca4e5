// SPDX-License-Identifier: Apache-2.0
// JSON texts that nobody vouches for, read by nlohmann::json into 8 bytes a value: neither nesting, nor
// duplicate keys, nor huge texts do harm.
#pragma once
#if !__has_include(<nlohmann/json.hpp>)
#error \
    "edgeq: checkpoints need nlohmann::json 3.9 or newer (Debian: nlohmann-json3-dev); link edgeq::checkpoint"
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::json {

/// The longest text that is read, in bytes: the limit of safetensors for its headers.
inline constexpr std::size_t max_text = 100'000'000;
/// The deepest nesting of arrays and objects that is read.
inline constexpr std::size_t max_depth = 64;

class Value;
struct Member;
template <class Item>
class Range;

namespace detail {

class Builder;

enum class Kind : std::uint32_t { null, boolean, natural, negative, fraction, string, array, object };

// A text becomes the list of its values in their order, each key before its value. `size` counts the bytes of
// a string or the nodes inside an array or object; a number is the payload itself, or with size 8 lies among
// the characters.
struct Node {
  Node(Kind kind, std::size_t size, std::size_t payload) noexcept
      : kind_and_size(static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(size << 3)),
        payload(static_cast<std::uint32_t>(payload)) {}

  Kind kind() const noexcept { return Kind{kind_and_size & 7}; }
  std::size_t size() const noexcept { return kind_and_size >> 3; }
  const Node* next() const noexcept { return this + 1 + (kind() >= Kind::array ? size() : 0); }

  std::uint32_t kind_and_size;
  std::uint32_t payload;  // a small number, a bool, or where the characters begin
};
static_assert(max_text < std::size_t{1} << 29, "edgeq: sizes have 29 bits");

}

/// One value of a Document, viewing it. Each accessor returns nullopt if the value is of another kind.
class Value {
 public:
  Value(const detail::Node* node, const char* characters) noexcept : node_(node), characters_(characters) {}

  bool is_null() const noexcept { return node_->kind() == detail::Kind::null; }
  bool is_array() const noexcept { return node_->kind() == detail::Kind::array; }
  bool is_object() const noexcept { return node_->kind() == detail::Kind::object; }
  std::optional<bool> as_bool() const noexcept {
    if (node_->kind() != detail::Kind::boolean) return std::nullopt;
    return node_->payload != 0;
  }
  /// An integer of at least 0 that is written as one: neither 2.0 nor 2e0 nor -0.
  std::optional<std::uint64_t> as_u64() const noexcept {
    if (node_->kind() != detail::Kind::natural) return std::nullopt;
    return magnitude();
  }
  /// An integer that is written as one and fits the result.
  std::optional<std::int64_t> as_i64() const noexcept {
    constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();
    if (node_->kind() == detail::Kind::natural && magnitude() <= max)
      return static_cast<std::int64_t>(magnitude());
    if (node_->kind() == detail::Kind::negative && magnitude() <= max)
      return -static_cast<std::int64_t>(magnitude());
    return std::nullopt;
  }
  /// A string, unescaped, valid UTF-8.
  std::optional<std::string_view> as_string() const noexcept {
    if (node_->kind() != detail::Kind::string) return std::nullopt;
    return std::string_view(characters_ + node_->payload, node_->size());
  }
  /// The items of an array; none if the value is of another kind.
  Range<Value> items() const noexcept;
  /// The members of an object, whose keys differ; none if the value is of another kind.
  Range<Member> members() const noexcept;
  /// The member of an object that has this key, looked for in O(size).
  std::optional<Value> find(std::string_view key) const noexcept;

  static Value at(const detail::Node* node, const char* characters) noexcept { return {node, characters}; }
  static const detail::Node* last_node(const detail::Node* node) noexcept { return node; }

 private:
  std::uint64_t magnitude() const noexcept {
    if (node_->size() == 0) return node_->payload;
    std::uint64_t wide;
    std::memcpy(&wide, characters_ + node_->payload, sizeof wide);
    return wide;
  }

  const detail::Node* node_;
  const char* characters_;
};

/// A key of an object and its value.
struct Member {
  std::string_view key;
  Value value;

  static Member at(const detail::Node* node, const char* characters) noexcept {
    return {*Value(node, characters).as_string(), {node + 1, characters}};
  }
  static const detail::Node* last_node(const detail::Node* node) noexcept { return node + 1; }
};

/// The items of an array, or the members of an object, in the order of the text.
template <class Item>
class Range {
 public:
  struct Iterator {
    const detail::Node* node;
    const char* characters;
    Item operator*() const noexcept { return Item::at(node, characters); }
    Iterator& operator++() noexcept {
      node = Item::last_node(node)->next();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return node == other.node; }
  };

  Range(const detail::Node* begin, const detail::Node* end, const char* characters) noexcept
      : begin_{begin, characters}, end_{end, characters} {}
  Iterator begin() const noexcept { return begin_; }
  Iterator end() const noexcept { return end_; }

 private:
  Iterator begin_;
  Iterator end_;
};

inline Range<Value> Value::items() const noexcept {
  return {node_ + 1, is_array() ? node_->next() : node_ + 1, characters_};
}
inline Range<Member> Value::members() const noexcept {
  return {node_ + 1, is_object() ? node_->next() : node_ + 1, characters_};
}
inline std::optional<Value> Value::find(std::string_view key) const noexcept {
  for (const auto& [name, value] : members())
    if (name == key) return value;
  return std::nullopt;
}

/// A parsed text. It does not need the text any more, and views of it survive its move.
class Document {
 public:
  /// Reads one JSON value, in memory of at most 16 times the text and time O(n log n). Messages begin with
  /// `name`, which says what the text is.
  ///
  /// invalid_file: the text is not UTF-8 or not JSON, has a number beyond the range of double, or an object
  /// with a key twice. too_large: the text has more than max_text bytes or nests deeper than max_depth.
  static Result<Document> parse(std::string_view text, std::string_view name);

  Value root() const noexcept { return {nodes_.data(), characters_.data()}; }

  /// Gives up all but the characters of the strings, of which views stay valid.
  std::vector<char> take_characters() && noexcept {
    nodes_ = {};
    return std::move(characters_);
  }

 private:
  friend class detail::Builder;
  Document() = default;

  std::vector<detail::Node> nodes_;
  std::vector<char> characters_;
};

namespace detail {

// What nlohmann::json reports of a text, made a Document. A function that returns false ends the reading.
class Builder {
 public:
  explicit Builder(std::string_view text) {
    // Before each value stands one of these, or nothing; an escaped string never grows.
    const auto starts_value = [](char c) { return c == '[' || c == '{' || c == ',' || c == ':'; };
    const auto values = std::count_if(text.begin(), text.end(), starts_value) + 1;
    document_.nodes_.reserve(static_cast<std::size_t>(values));
    document_.characters_.reserve(text.size());
  }

  bool null() { return push(Kind::null, 0, 0); }
  bool boolean(bool value) { return push(Kind::boolean, 0, value ? 1 : 0); }
  bool number_unsigned(std::uint64_t value) { return push_integer(Kind::natural, value); }
  bool number_integer(std::int64_t value) {
    return push_integer(Kind::negative, std::uint64_t{0} - static_cast<std::uint64_t>(value));
  }
  bool number_float(double, const std::string&) { return push(Kind::fraction, 0, 0); }
  bool string(const std::string& value) {
    return push(Kind::string, value.size(), append(value.data(), value.size()));
  }
  bool binary(const nlohmann::json::binary_t&) { return false; }  // no JSON text has any
  bool key(const std::string& name) { return string(name); }
  bool start_array(std::size_t) { return open(Kind::array); }
  bool start_object(std::size_t) { return open(Kind::object); }
  bool end_array() {
    close();
    return true;
  }
  bool end_object() {
    const std::size_t object = close();
    const Node* node = &document_.nodes_[object];
    std::vector<std::string_view> keys;
    for (const Member& member : Value(node, document_.characters_.data()).members())
      keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return true;
    return fail(ErrorCode::invalid_file, "the key " + in_quotes(*twice) + " stands twice in one object");
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& exception) {
    constexpr int out_of_range = 406;
    return fail(ErrorCode::invalid_file,
                exception.id == out_of_range
                    ? "the number before byte " + std::to_string(position) + " is beyond the range of double"
                    : "the text is not JSON in UTF-8 from byte " +
                          std::to_string(position == 0 ? 0 : position - 1) + " on");
  }

  Result<Document> finish(std::string_view name) {
    if (error_) return Error{error_->code, std::string(name) + ": " + error_->message};
    return std::move(document_);
  }

  bool fail(ErrorCode code, std::string message) {
    error_ = Error{code, std::move(message)};
    return false;
  }

 private:
  std::size_t append(const void* data, std::size_t size) {
    const std::size_t begin = document_.characters_.size();
    const auto* bytes = static_cast<const char*>(data);
    document_.characters_.insert(document_.characters_.end(), bytes, bytes + size);
    return begin;
  }
  bool push(Kind kind, std::size_t size, std::size_t payload) {
    document_.nodes_.emplace_back(kind, size, payload);
    return true;
  }
  bool push_integer(Kind kind, std::uint64_t magnitude) {
    if (magnitude <= std::numeric_limits<std::uint32_t>::max())
      return push(kind, 0, static_cast<std::size_t>(magnitude));
    return push(kind, sizeof magnitude, append(&magnitude, sizeof magnitude));  // it was longer as text
  }
  bool open(Kind kind) {
    if (open_.size() == max_depth) {
      return fail(ErrorCode::too_large, "arrays and objects nest deeper than " + std::to_string(max_depth));
    }
    open_.push_back(document_.nodes_.size());
    return push(kind, 0, 0);
  }
  std::size_t close() {
    const std::size_t index = open_.back();
    open_.pop_back();
    Node& node = document_.nodes_[index];
    node = Node(node.kind(), document_.nodes_.size() - index - 1, 0);
    return index;
  }

  Document document_;
  std::vector<std::size_t> open_;
  std::optional<Error> error_;
};

}

inline Result<Document> Document::parse(std::string_view text, std::string_view name) {
  if (text.size() > max_text) {
    return Error{ErrorCode::too_large, std::string(name) + ": the text has " + std::to_string(text.size()) +
                                           " bytes, the limit is " + std::to_string(max_text)};
  }
  detail::Builder builder(text);
  // nlohmann::json takes a NUL for the end and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    builder.fail(ErrorCode::invalid_file, "byte " + std::to_string(nul) + " of the text is NUL");
  } else {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  }
  return builder.finish(name);
}

}
