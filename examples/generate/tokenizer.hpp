// SPDX-License-Identifier: Apache-2.0
// Turns text into token ids and back: byte-level byte-pair encoding, what GGUF files call the model "gpt2".
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generate/pretokenizer.hpp"

namespace generate {

/// The tokenizer as a GGUF file stores it under tokenizer.ggml.*; each field names its key. An id that the
/// file does not give is -1.
struct TokenizerData {
  std::vector<std::string> tokens;  ///< tokens, in the byte-to-character spelling of GPT-2
  std::vector<int> token_types;  ///< token_type: 1 normal, 2 unknown, 3 control, 4 user-defined; may be empty
  std::vector<std::string> merges;  ///< merges: "left right", most urgent first
  std::string pre;                  ///< pre: which pre-tokenizer
  int bos = -1;                     ///< bos_token_id
  int eos = -1;                     ///< eos_token_id
  int unk = -1;                     ///< unknown_token_id
  bool add_bos = false;             ///< add_bos_token
  bool add_space_prefix = false;    ///< add_space_prefix
};

/// Encodes and decodes. Immutable once built, so threads may share one.
class Tokenizer {
 public:
  /// Checks everything that encoding relies on: throws std::runtime_error when the sizes disagree, an id is
  /// out of range, a merge names a token that does not exist, or the pre-tokenizer is unknown.
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
  std::optional<int> find(std::string_view text) const;

  /// The token's spelling in the file, for the bos_token and eos_token of chat templates; empty for id -1.
  const std::string& spelling(int token) const;

  int bos() const { return data_.bos; }
  int eos() const { return data_.eos; }
  std::size_t size() const { return data_.tokens.size(); }

 private:
  struct Merge {
    std::size_t rank;
    int token;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  int type(int token) const;
  bool is_special(int token) const;
  void check_id(int id, std::string_view field) const;
  void read_merges();
  int token_at(std::string_view text, bool parse_special) const;
  void encode_ordinary(std::string_view text, std::vector<int>& ids) const;
  void encode_word(std::string_view word, std::vector<int>& ids) const;
  void merge_symbols(std::vector<int>& symbols) const;
  const Merge* find_merge(int left, int right) const;

  TokenizerData data_;
  SplitPattern pattern_;
  std::unordered_map<std::string, int, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // by the ids of the left and the right half
  std::array<int, 256> byte_ids_{};                  // -1 for a byte without a token
  std::array<std::vector<int>, 256> whole_tokens_;   // control and user-defined by first byte, longest first
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
