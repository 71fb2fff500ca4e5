// SPDX-License-Identifier: Apache-2.0
// The values that expressions of a chat template have, and Python's operations on them.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace generate {

/// A variable, attribute or element that does not exist; it prints as nothing and is false.
struct Undefined {
  std::string name;  ///< what was asked for, for messages
};

/// The variable `loop` inside a for.
struct LoopState {
  std::size_t index0 = 0;
  std::size_t length = 0;
};

/// A value. Lists and mappings are shared and never change.
struct Value {
  using List = std::shared_ptr<const std::vector<Value>>;
  using Mapping = std::shared_ptr<const std::map<std::string, Value>>;
  struct None {};

  std::variant<Undefined, None, bool, std::int64_t, std::string, List, Mapping, LoopState> data;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  bool is_undefined() const { return as<Undefined>() != nullptr; }
};

Value make_list(std::vector<Value> elements);
Value make_mapping(std::map<std::string, Value> entries);

// Each of these throws std::runtime_error naming `line` where Python would raise an exception, and where it
// would do something that chat templates do not need and is not implemented.

/// What kind of value it is, for messages: "a string", "an undefined value (message.name)".
std::string describe(const Value& value);

/// Python's bool().
bool is_true(const Value& value);

/// Python's str(), of strings, integers, booleans, none and undefined values (which give nothing).
std::string to_text(const Value& value, int line);

/// Python's ==.
bool is_equal(const Value& left, const Value& right);

/// The order of two numbers or two strings.
std::strong_ordering compare(const Value& left, const Value& right, int line);

/// Python's `needle in haystack`.
bool contains(const Value& haystack, const Value& needle, int line);

/// `left symbol right` for + (numbers, strings, lists), - and % (integers).
Value arithmetic(const Value& left, std::string_view symbol, const Value& right, int line);

/// `- value`, an integer.
Value negative(const Value& value, int line);

/// `value.name`, which in Jinja is also an entry of a mapping.
Value attribute(const Value& value, const std::string& name, int line);

/// `value[key]`, of a list or string with an integer (negative from the end), or of a mapping.
Value item(const Value& value, const Value& key, int line);

/// `value[start:stop]` of a list or string; an absent bound is none.
Value slice(const Value& value, const Value& start, const Value& stop, int line);

/// Python's len(), 0 for an undefined value.
std::int64_t length(const Value& value, int line);

/// What a for runs over: the elements of a list or the characters of a string.
std::vector<Value> elements(const Value& value, int line);

}
