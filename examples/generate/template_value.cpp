// SPDX-License-Identifier: Apache-2.0
// Python's semantics for the few types that chat templates use.
#include "generate/template_value.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "generate/template_lexer.hpp"
#include "generate/template_text.hpp"

namespace generate {
namespace {

// bool is a kind of integer in Python.
std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  if (const auto* boolean = value.as<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

[[noreturn]] void refuse_operands(const Value& left, std::string_view what, const Value& right, int line) {
  refuse_template(line, "'" + std::string(what) + "' between " + describe(left) + " and " + describe(right) +
                            " is not possible");
}

std::vector<Value> characters(const std::string& text) {
  std::vector<Value> values;
  for (std::string_view character : characters_of(text)) values.push_back({std::string(character)});
  return values;
}

// Python's remainder has the sign of the divisor.
std::int64_t remainder(std::int64_t dividend, std::int64_t divisor, int line) {
  if (divisor == 0) refuse_template(line, "'%' by zero");
  if (divisor == -1) return 0;  // the one quotient that can overflow
  const std::int64_t rest = dividend % divisor;
  return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
}

std::size_t slice_bound(const Value& bound, std::size_t size, std::size_t absent, int line) {
  if (bound.as<Value::None>()) return absent;
  const std::optional<std::int64_t> given = as_integer(bound);
  if (!given) refuse_template(line, "a slice bound must be an integer, not " + describe(bound));
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t from_start = *given < 0 ? std::max(*given, -count) + count : std::min(*given, count);
  return static_cast<std::size_t>(from_start);
}

Value loop_attribute(const LoopState& loop, const std::string& name, int line) {
  const auto index0 = static_cast<std::int64_t>(loop.index0);
  if (name == "index0") return {index0};
  if (name == "index") return {index0 + 1};
  if (name == "first") return {loop.index0 == 0};
  if (name == "last") return {loop.index0 + 1 == loop.length};
  if (name == "length") return {static_cast<std::int64_t>(loop.length)};
  refuse_template(line, "'loop." + name + "' is not implemented");
}

}

Value make_list(std::vector<Value> elements) {
  return {std::make_shared<const std::vector<Value>>(std::move(elements))};
}

Value make_mapping(std::map<std::string, Value> entries) {
  return {std::make_shared<const std::map<std::string, Value>>(std::move(entries))};
}

std::string describe(const Value& value) {
  if (const auto* undefined = value.as<Undefined>()) return "an undefined value (" + undefined->name + ")";
  static constexpr const char* names[] = {"",         "none",   "a boolean", "an integer",
                                          "a string", "a list", "a mapping", "a loop"};
  return names[value.data.index()];
}

bool is_true(const Value& value) {
  if (const auto integer = as_integer(value)) return *integer != 0;
  if (const auto* text = value.as<std::string>()) return !text->empty();
  if (const auto* list = value.as<Value::List>()) return !(*list)->empty();
  if (const auto* mapping = value.as<Value::Mapping>()) return !(*mapping)->empty();
  return value.as<LoopState>() != nullptr;
}

std::string to_text(const Value& value, int line) {
  if (value.is_undefined()) return "";
  if (value.as<Value::None>()) return "None";
  if (const auto* boolean = value.as<bool>()) return *boolean ? "True" : "False";
  if (const auto* integer = value.as<std::int64_t>()) return std::to_string(*integer);
  if (const auto* text = value.as<std::string>()) return *text;
  refuse_template(line, "output of " + describe(value) + " is not implemented");
}

bool is_equal(const Value& left, const Value& right) {
  const auto left_integer = as_integer(left);
  const auto right_integer = as_integer(right);
  if (left_integer && right_integer) return *left_integer == *right_integer;
  if (left.data.index() != right.data.index()) return false;
  if (const auto* text = left.as<std::string>()) return *text == *right.as<std::string>();
  if (const auto* list = left.as<Value::List>()) {
    const auto& other = *right.as<Value::List>();
    return std::equal((*list)->begin(), (*list)->end(), other->begin(), other->end(), is_equal);
  }
  if (const auto* mapping = left.as<Value::Mapping>()) {
    const auto& other = *right.as<Value::Mapping>();
    const auto same_entry = [](const auto& a, const auto& b) {
      return a.first == b.first && is_equal(a.second, b.second);
    };
    return std::equal((*mapping)->begin(), (*mapping)->end(), other->begin(), other->end(), same_entry);
  }
  return true;  // both undefined, both none, or the same loop
}

std::strong_ordering compare(const Value& left, const Value& right, int line) {
  const auto left_integer = as_integer(left);
  const auto right_integer = as_integer(right);
  if (left_integer && right_integer) return *left_integer <=> *right_integer;
  const auto* left_text = left.as<std::string>();
  const auto* right_text = right.as<std::string>();
  // UTF-8 sorts by bytes as it does by code points.
  if (left_text && right_text) return *left_text <=> *right_text;
  refuse_operands(left, "<", right, line);
}

bool contains(const Value& haystack, const Value& needle, int line) {
  if (haystack.is_undefined()) return false;
  if (const auto* list = haystack.as<Value::List>()) {
    return std::any_of((*list)->begin(), (*list)->end(),
                       [&](const Value& element) { return is_equal(element, needle); });
  }
  const auto* text = needle.as<std::string>();
  if (const auto* in_text = haystack.as<std::string>(); in_text && text) {
    return in_text->find(*text) != std::string::npos;
  }
  if (const auto* mapping = haystack.as<Value::Mapping>()) return text && (*mapping)->contains(*text);
  refuse_operands(needle, "in", haystack, line);
}

Value arithmetic(const Value& left, std::string_view symbol, const Value& right, int line) {
  const auto a = as_integer(left);
  const auto b = as_integer(right);
  if (a && b) {
    std::int64_t result = 0;
    if (symbol == "%") return {remainder(*a, *b, line)};
    const bool overflows =
        symbol == "+" ? __builtin_add_overflow(*a, *b, &result) : __builtin_sub_overflow(*a, *b, &result);
    if (overflows) refuse_template(line, "the result of '" + std::string(symbol) + "' does not fit 64 bits");
    return {result};
  }
  const auto* left_text = left.as<std::string>();
  const auto* right_text = right.as<std::string>();
  if (symbol == "+" && left_text && right_text) return {*left_text + *right_text};
  const auto* left_list = left.as<Value::List>();
  const auto* right_list = right.as<Value::List>();
  if (symbol == "+" && left_list && right_list) {
    std::vector<Value> joined = **left_list;
    joined.insert(joined.end(), (*right_list)->begin(), (*right_list)->end());
    return make_list(std::move(joined));
  }
  refuse_operands(left, symbol, right, line);
}

Value negative(const Value& value, int line) {
  const auto integer = as_integer(value);
  if (!integer) refuse_template(line, "'-' before " + describe(value) + " is not possible");
  return arithmetic({std::int64_t{0}}, "-", {*integer}, line);
}

Value attribute(const Value& value, const std::string& name, int line) {
  if (value.is_undefined()) {
    refuse_template(line, "'" + name + "' of " + describe(value));
  }
  if (const auto* loop = value.as<LoopState>()) return loop_attribute(*loop, name, line);
  if (const auto* mapping = value.as<Value::Mapping>()) {
    if (const auto entry = (*mapping)->find(name); entry != (*mapping)->end()) return entry->second;
  }
  return {Undefined{name}};
}

Value item(const Value& value, const Value& key, int line) {
  if (const auto* name = key.as<std::string>()) return attribute(value, *name, line);
  if (value.is_undefined()) refuse_template(line, "an element of " + describe(value));
  const auto index = as_integer(key);
  const auto* list = value.as<Value::List>();
  if (!index || (!list && !value.as<std::string>())) return {Undefined{"an element of " + describe(value)}};
  const std::int64_t size = length(value, line);
  if (*index < -size || *index >= size) return {Undefined{"element " + std::to_string(*index)}};
  const auto place = static_cast<std::size_t>(*index < 0 ? *index + size : *index);
  return list ? (**list)[place] : elements(value, line)[place];
}

Value slice(const Value& value, const Value& start, const Value& stop, int line) {
  const bool is_text = value.as<std::string>() != nullptr;
  if (!is_text && !value.as<Value::List>()) refuse_template(line, "a slice of " + describe(value));
  const std::vector<Value> sequence = elements(value, line);
  const std::size_t begin = slice_bound(start, sequence.size(), 0, line);
  const std::size_t end = std::max(begin, slice_bound(stop, sequence.size(), sequence.size(), line));
  if (!is_text) {
    const auto first = sequence.begin();
    return make_list({first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)});
  }
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += *sequence[i].as<std::string>();
  return {std::move(text)};
}

std::int64_t length(const Value& value, int line) {
  if (value.is_undefined()) return 0;
  if (const auto* text = value.as<std::string>()) {
    return static_cast<std::int64_t>(characters_of(*text).size());
  }
  if (const auto* list = value.as<Value::List>()) return static_cast<std::int64_t>((*list)->size());
  if (const auto* mapping = value.as<Value::Mapping>()) return static_cast<std::int64_t>((*mapping)->size());
  refuse_template(line, "the length of " + describe(value) + " is not possible");
}

std::vector<Value> elements(const Value& value, int line) {
  if (value.is_undefined()) return {};
  if (const auto* list = value.as<Value::List>()) return **list;
  if (const auto* text = value.as<std::string>()) return characters(*text);
  refuse_template(line, "'for' over " + describe(value) + " is not possible");
}

}
