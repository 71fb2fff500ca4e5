// SPDX-License-Identifier: Apache-2.0
// The text half of a model file: its tokenizer, its chat template, and the tokens that end an answer.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/import/gguf.hpp"
#include "generate/tokenizer.hpp"

namespace generate {

/// What turns a question into tokens and tokens into an answer.
struct ModelText {
  Tokenizer tokenizer;
  std::string chat_template;    ///< empty if the file has none
  std::vector<int> end_tokens;  ///< ascending

  bool ends(int token) const;

  /// The tokens of a conversation that waits for its answer: `system` (unless empty) and `prompt`, rendered
  /// with the chat template; or those of `prompt` as it is, to be continued, if `raw` or if there is no
  /// template. Throws std::runtime_error if the text has no tokens at all, or if there is a system message
  /// but no template to put it into.
  std::vector<int> encode(const std::string& system, const std::string& prompt, bool raw) const;
};

/// Reads the keys tokenizer.*. Throws std::runtime_error on a tokenizer that is neither "gpt2" nor "llama"
/// (see TokenizerKind) and on keys that contradict each other.
ModelText read_text(const edgeq::gguf::File& file);

}
