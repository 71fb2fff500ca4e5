// SPDX-License-Identifier: Apache-2.0
// How building, importing and planning fail: a value, or an error code with one sentence. No exception is
// thrown.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// What kind of thing went wrong, for programs; `Error::message` is for people.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< the caller's sizes, pointers or options contradict each other
  invalid_file,      ///< a file's bytes break the rules of its format
  unsupported,       ///< well formed, but nothing here can run it
  too_large,         ///< a size does not fit the address space or a limit that is named
  io,                ///< the operating system refused
};

/// Why something could not be built: the message names the tensor or field, the value found and the rule.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
};

/// A value or an Error. Test it before use; `value()` on an error is undefined, as is `error()` on a value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  bool ok() const noexcept { return state_.index() == 0; }

  T& value() & noexcept { return *std::get_if<0>(&state_); }
  const T& value() const& noexcept { return *std::get_if<0>(&state_); }
  T&& value() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(*this).value(); }
  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
using Status = Result<std::monostate>;

/// The Status of something that went well.
inline Status success() {
  return Status(std::monostate{});
}

#if defined(__cpp_exceptions)
/// For programs that prefer exceptions: the value, or std::runtime_error with the message.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}
#endif

}
