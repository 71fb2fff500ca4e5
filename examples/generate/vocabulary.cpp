// SPDX-License-Identifier: Apache-2.0
// Checks and indexes the tokens.
#include "generate/vocabulary.hpp"

#include <stdexcept>
#include <utility>

namespace generate {

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::vector<int> types, int unknown)
    : tokens_(std::move(tokens)), types_(std::move(types)), unknown_(unknown) {
  // Merged ids are int, and -1 must stay free.
  if (tokens_.empty() || tokens_.size() > std::size_t{1} << 30) {
    throw std::runtime_error("tokenizer.ggml.tokens has " + std::to_string(tokens_.size()) +
                             " entries: from 1 to 2^30 are possible");
  }
  if (!types_.empty() && types_.size() != tokens_.size()) {
    throw std::runtime_error("tokenizer.ggml.token_type has " + std::to_string(types_.size()) +
                             " entries for " + std::to_string(tokens_.size()) + " tokens");
  }
  check_id(unknown_, "unknown_token_id");
  ids_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) ids_.emplace(tokens_[i], static_cast<int>(i));
}

std::optional<int> Vocabulary::find(std::string_view spelling) const {
  const auto found = ids_.find(spelling);
  return found == ids_.end() ? std::nullopt : std::optional<int>(found->second);
}

int Vocabulary::unknown_for(unsigned char byte) const {
  if (unknown_ >= 0 && type(unknown_) != TokenType::control) return unknown_;
  constexpr std::string_view digits = "0123456789ABCDEF";
  throw std::runtime_error("the text has a byte 0x" + std::string{digits[byte >> 4], digits[byte & 15]} +
                           ", for which the model's vocabulary has no token");
}

void Vocabulary::check_id(int id, std::string_view field) const {
  if (id >= -1 && id < static_cast<int>(tokens_.size())) return;
  throw std::runtime_error("tokenizer.ggml." + std::string(field) + " is " + std::to_string(id) +
                           ": there are " + std::to_string(tokens_.size()) + " tokens");
}

}
