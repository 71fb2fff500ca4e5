// SPDX-License-Identifier: Apache-2.0
// How ordinary text, in which no special token stands, becomes tokens and back.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generate/tokenizer_data.hpp"
#include "generate/vocabulary.hpp"

namespace generate {

/// Immutable once built, so threads may share one.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  /// Appends the ids of a text, any bytes at all.
  virtual void encode(std::string_view text, std::vector<int>& ids) const = 0;
  /// The bytes of one token that is neither special nor user-defined.
  virtual std::string decode(int token) const = 0;
};

/// Byte-level byte-pair encoding, of the data's merges and pre-tokenizer. A space is added in front of a text
/// that has none, if the data asks for it. Throws std::runtime_error when a merge names a token that does not
/// exist or the pre-tokenizer is unknown.
std::unique_ptr<const SubwordModel> make_byte_level_bpe(std::shared_ptr<const Vocabulary> vocabulary,
                                                        const TokenizerData& data);

/// SentencePiece's byte-pair encoding, of the data's scores. Characters that no token has are the tokens
/// <0xNN> of their bytes. A space is added in front of every text, if the data asks for it. Text never
/// becomes a control, unknown or byte token by its spelling. Throws std::runtime_error when there is not one
/// score for each token.
std::unique_ptr<const SubwordModel> make_sentencepiece_bpe(std::shared_ptr<const Vocabulary> vocabulary,
                                                           const TokenizerData& data);

}
