// SPDX-License-Identifier: Apache-2.0
// What a model file says about its tokenizer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace generate {

/// How ordinary text becomes tokens: both join the most urgent pair of neighbours until none is left.
enum class TokenizerKind : std::uint8_t {
  byte_level,     ///< "gpt2": bytes, within words, by a list of merges
  sentencepiece,  ///< "llama": characters, a space being U+2581, by the score of the token that a pair spells
};

/// The tokenizer as a GGUF file stores it under tokenizer.ggml.*; each field names its key. An id that the
/// file does not give is -1.
struct TokenizerData {
  TokenizerKind kind = TokenizerKind::byte_level;  ///< model
  std::vector<std::string> tokens;  ///< tokens; byte-level: in the byte-to-character spelling of GPT-2
  std::vector<int> token_types;     ///< token_type: see TokenType; empty: all are normal
  std::vector<std::string> merges;  ///< merges, for byte-level: "left right", most urgent first
  std::vector<float> scores;        ///< scores, for SentencePiece: the greater the more urgent
  std::string pre;                  ///< pre, for byte-level: which pre-tokenizer
  int bos = -1;                     ///< bos_token_id
  int eos = -1;                     ///< eos_token_id
  int unk = -1;                     ///< unknown_token_id
  bool add_bos = false;             ///< add_bos_token
  bool add_space_prefix = false;    ///< add_space_prefix
};

}
