// SPDX-License-Identifier: Apache-2.0
// The tokens of a model, by id and by spelling.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace generate {

/// What a token is, by ggml's numbers.
enum class TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// Immutable, and stays where it was built.
class Vocabulary {
 public:
  /// Spellings, types (empty: all are normal) and the id of the unknown token or -1. Throws
  /// std::runtime_error when there are no tokens or too many, the number of types is another, or the id is
  /// out of range.
  Vocabulary(std::vector<std::string> tokens, std::vector<int> types, int unknown);
  Vocabulary(const Vocabulary&) = delete;

  std::size_t size() const { return tokens_.size(); }
  TokenType type(int token) const {
    return types_.empty() ? TokenType::normal : TokenType{types_[static_cast<std::size_t>(token)]};
  }
  /// Control or unknown: a token that is no part of a text.
  bool is_special(int token) const {
    return type(token) == TokenType::control || type(token) == TokenType::unknown;
  }
  /// The spelling in the file.
  const std::string& spelling(int token) const { return tokens_[static_cast<std::size_t>(token)]; }
  std::optional<int> find(std::string_view spelling) const;

  /// What stands for a byte without a token: the unknown token, unless that is a control token, whose meaning
  /// would differ. Then std::runtime_error names the byte.
  int unknown_for(unsigned char byte) const;

  /// Throws std::runtime_error that names the field unless the id is -1 or that of a token.
  void check_id(int id, std::string_view field) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::vector<std::string> tokens_;
  std::vector<int> types_;
  int unknown_;
  std::unordered_map<std::string_view, int, Hash, std::equal_to<>> ids_;  // views of tokens_
};

}
