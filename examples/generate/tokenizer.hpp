// SPDX-License-Identifier: Apache-2.0
// Turns text into token ids and back.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/subword_model.hpp"
#include "generate/tokenizer_data.hpp"
#include "generate/vocabulary.hpp"

namespace generate {

/// Encodes and decodes. Immutable once built, so threads may share one.
class Tokenizer {
 public:
  /// Checks everything that encoding relies on: throws std::runtime_error when the sizes disagree, an id is
  /// out of range, or the subword model refuses its part.
  explicit Tokenizer(TokenizerData data);

  /// The ids of `text`, any bytes at all; no beginning-of-text token is added. User-defined tokens are
  /// recognized wherever they stand, control tokens only when `parse_special`: pass false for text from
  /// outside, so that it cannot forge them. Where several could begin, the longest wins.
  ///
  /// Decoding the ids gives back `text` (after the space that `add_space_prefix` puts before each stretch of
  /// ordinary text). A byte for which the vocabulary has no token becomes `unk`, unless that is a control
  /// token, whose meaning would differ: then std::runtime_error names the byte.
  std::vector<int> encode(std::string_view text, bool parse_special) const;

  /// The ids of a whole prompt: `encode` with the beginning-of-text token in front if the file asks for it
  /// (`add_bos`) and the text does not begin with it already, as chat templates often do.
  std::vector<int> encode_prompt(std::string_view text, bool parse_special) const;

  /// The bytes of one token, perhaps part of a character. Control and unknown tokens are empty unless
  /// `show_special`. Throws std::runtime_error if there is no such token.
  std::string decode(int token, bool show_special = false) const;

  /// The id of the token that is spelled `text` in the file, such as "<|im_end|>".
  std::optional<int> find(std::string_view text) const { return vocabulary_->find(text); }

  /// The token's spelling in the file, for the bos_token and eos_token of chat templates; empty for id -1.
  const std::string& spelling(int token) const;

  int bos() const { return bos_; }
  int eos() const { return eos_; }
  std::size_t size() const { return vocabulary_->size(); }

 private:
  int token_at(std::string_view text, bool parse_special) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const SubwordModel> subwords_;
  int bos_, eos_;
  bool add_bos_;
  std::array<std::vector<int>, 256> whole_tokens_;  // control and user-defined by first byte, longest first
};

/// Joins decoded tokens into text that can be printed at once: holds back the beginning of a character until
/// the tokens that complete it arrive. Bytes that can never be part of a character pass through.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool show_special = false)
      : tokenizer_(&tokenizer), show_special_(show_special) {}

  /// What can be printed now that `token` has arrived.
  std::string push(int token);

  /// What was held back, once no more tokens will come.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool show_special_;
  std::string pending_;
};

}
