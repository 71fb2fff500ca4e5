// SPDX-License-Identifier: Apache-2.0
// Reads single values of a GGUF file's metadata; a value that is missing, of another kind or out of range is
// refused with one sentence that names its key.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "edgeq/import/gguf.hpp"

namespace generate {

/// The greatest size that metadata may ask for: far above any model, and products of two do not overflow.
inline constexpr std::size_t largest_size = std::size_t{1} << 24;

/// An integer from 1 to `largest_size`; nullopt if the key is missing.
std::optional<std::size_t> find_size(const edgeq::gguf::File& file, std::string_view key);
/// The same, for a key that must be there.
std::size_t need_size(const edgeq::gguf::File& file, std::string_view key);

/// A finite number above 0; nullopt if the key is missing.
std::optional<double> find_positive(const edgeq::gguf::File& file, std::string_view key);
/// The same, for a key that must be there.
double need_positive(const edgeq::gguf::File& file, std::string_view key);

/// A text; nullopt if the key is missing.
std::optional<std::string> find_text(const edgeq::gguf::File& file, std::string_view key);

/// A bool; `otherwise` if the key is missing.
bool find_flag(const edgeq::gguf::File& file, std::string_view key, bool otherwise);

/// The keys of an architecture, which begin with its name and a point.
class Keys {
 public:
  Keys(const edgeq::gguf::File& file, std::string architecture)
      : file_(&file), prefix_(std::move(architecture) + ".") {}

  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  std::optional<std::size_t> find_size(std::string_view key) const {
    return generate::find_size(*file_, name(key));
  }
  std::size_t need_size(std::string_view key) const { return generate::need_size(*file_, name(key)); }
  std::optional<double> find_positive(std::string_view key) const {
    return generate::find_positive(*file_, name(key));
  }
  double need_positive(std::string_view key) const { return generate::need_positive(*file_, name(key)); }
  std::optional<std::string> find_text(std::string_view key) const {
    return generate::find_text(*file_, name(key));
  }
  /// Refuses a number or a bool (as 0 or 1) that is there but is not `value`: another would change what the
  /// model computes.
  void expect(std::string_view key, double value) const;

 private:
  const edgeq::gguf::File* file_;
  std::string prefix_;
};

}
