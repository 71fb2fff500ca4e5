// SPDX-License-Identifier: Apache-2.0
// The sentences of refused metadata.
#include "generate/metadata.hpp"

#include <cmath>
#include <stdexcept>

namespace generate {
namespace {

[[noreturn]] void refuse(std::string_view key, const std::string& what) {
  throw std::runtime_error("the model file's key " + std::string(key) + " " + what);
}

template <class T>
T needed(std::optional<T> value, std::string_view key) {
  if (!value) refuse(key, "is missing");
  return *value;
}

}

std::optional<std::size_t> find_size(const edgeq::gguf::File& file, std::string_view key) {
  const edgeq::gguf::Value* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  const auto size = value->as_u64();
  if (!size) refuse(key, "is not a natural number");
  if (*size == 0 || *size > largest_size)
    refuse(key, "is " + std::to_string(*size) + ", not from 1 to " + std::to_string(largest_size));
  return static_cast<std::size_t>(*size);
}

std::size_t need_size(const edgeq::gguf::File& file, std::string_view key) {
  return needed(find_size(file, key), key);
}

std::optional<double> find_positive(const edgeq::gguf::File& file, std::string_view key) {
  const edgeq::gguf::Value* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->as_f64();
  if (!number) refuse(key, "is not a floating-point number");
  if (!(*number > 0) || std::isinf(*number))
    refuse(key, "is " + std::to_string(*number) + ", not a finite number above 0");
  return number;
}

double need_positive(const edgeq::gguf::File& file, std::string_view key) {
  return needed(find_positive(file, key), key);
}

std::optional<std::string> find_text(const edgeq::gguf::File& file, std::string_view key) {
  const edgeq::gguf::Value* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  const auto text = value->as_string();
  if (!text) refuse(key, "is not a text");
  return std::string(*text);
}

bool find_flag(const edgeq::gguf::File& file, std::string_view key, bool otherwise) {
  const edgeq::gguf::Value* value = file.find(key);
  if (value == nullptr) return otherwise;
  const auto flag = value->as_bool();
  if (!flag) refuse(key, "is not a bool");
  return *flag;
}

void Keys::expect(std::string_view key, double value) const {
  const edgeq::gguf::Value* found = file_->find(name(key));
  if (found == nullptr) return;
  const auto integer = found->as_u64();
  const auto number = found->as_f64();
  const auto flag = found->as_bool();
  const bool changes_nothing = integer  ? static_cast<double>(*integer) == value
                               : number ? *number == value
                               : flag   ? *flag == (value != 0)
                                        : false;
  if (!changes_nothing)
    throw std::runtime_error("the model file sets " + name(key) + ", which is not supported");
}

}
