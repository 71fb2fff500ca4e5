// SPDX-License-Identifier: Apache-2.0
// SentencePiece's byte-pair encoding: characters, joined where they spell a token, the best score first.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "generate/merge_symbols.hpp"
#include "generate/subword_model.hpp"
#include "generate/unicode.hpp"

namespace generate {
namespace {

constexpr std::string_view space = "\u2581";  // the spelling of ' '

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(from, at), text.size());
    result += text.substr(at, found - at);
    if (found < text.size()) result += to;
    at = found + from.size();
  }
  return result;
}

std::string spell_byte(std::size_t byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

// A stretch of the text: one character, or what characters were joined to.
struct Piece {
  std::size_t begin, size;
  bool operator==(const Piece&) const = default;
};

class SentencePieceBpe final : public SubwordModel {
 public:
  SentencePieceBpe(std::shared_ptr<const Vocabulary> vocabulary, const TokenizerData& data)
      : vocabulary_(std::move(vocabulary)), scores_(data.scores), add_space_prefix_(data.add_space_prefix) {
    if (scores_.size() != vocabulary_->size())
      throw std::runtime_error("tokenizer.ggml.scores has " + std::to_string(scores_.size()) +
                               " entries for " + std::to_string(vocabulary_->size()) + " tokens");
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      const std::optional<int> id = vocabulary_->find(spell_byte(byte));
      byte_ids_[byte] = id && vocabulary_->type(*id) == TokenType::byte ? *id : -1;
    }
  }

  void encode(std::string_view text, std::vector<int>& ids) const override {
    if (text.empty()) return;
    const std::string spelled = (add_space_prefix_ ? std::string(space) : "") + replaced(text, " ", space);
    const auto text_of = [&](const Piece& piece) {
      return std::string_view(spelled).substr(piece.begin, piece.size);
    };
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at < spelled.size(); at += pieces.back().size)
      pieces.push_back({at, character_at(spelled, at).size});
    merge_symbols(pieces, [&](const Piece& left, const Piece& right) -> std::optional<Merge<Piece>> {
      const Piece both{left.begin, left.size + right.size};
      const std::optional<int> token = find(text_of(both));
      if (!token) return std::nullopt;
      return Merge<Piece>{-static_cast<double>(scores_[static_cast<std::size_t>(*token)]), both};
    });
    for (const Piece& piece : pieces) {
      if (const std::optional<int> token = find(text_of(piece)))
        ids.push_back(*token);
      else
        encode_bytes(text_of(piece), ids);
    }
  }

  std::string decode(int token) const override {
    const std::string& spelling = vocabulary_->spelling(token);
    if (vocabulary_->type(token) != TokenType::byte) return replaced(spelling, space, " ");
    const auto* byte = std::find(byte_ids_.begin(), byte_ids_.end(), token);
    return byte == byte_ids_.end() ? spelling : std::string(1, static_cast<char>(byte - byte_ids_.begin()));
  }

 private:
  // A token that a text may spell.
  std::optional<int> find(std::string_view text) const {
    const std::optional<int> token = vocabulary_->find(text);
    return token && !vocabulary_->is_special(*token) && vocabulary_->type(*token) != TokenType::byte
               ? token
               : std::nullopt;
  }

  void encode_bytes(std::string_view bytes, std::vector<int>& ids) const {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      ids.push_back(byte_ids_[byte] < 0 ? vocabulary_->unknown_for(byte) : byte_ids_[byte]);
    }
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<float> scores_;
  bool add_space_prefix_;
  std::array<int, 256> byte_ids_{};  // -1 for a byte without a token
};

}

std::unique_ptr<const SubwordModel> make_sentencepiece_bpe(std::shared_ptr<const Vocabulary> vocabulary,
                                                           const TokenizerData& data) {
  return std::make_unique<SentencePieceBpe>(std::move(vocabulary), data);
}

}
