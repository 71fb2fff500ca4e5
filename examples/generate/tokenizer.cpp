// SPDX-License-Identifier: Apache-2.0
// Finds special tokens in a text; what lies between them is left to the subword model.
#include "generate/tokenizer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "generate/unicode.hpp"

namespace generate {
namespace {

std::unique_ptr<const SubwordModel> make_subword_model(std::shared_ptr<const Vocabulary> vocabulary,
                                                       const TokenizerData& data) {
  return data.kind == TokenizerKind::byte_level ? make_byte_level_bpe(std::move(vocabulary), data)
                                                : make_sentencepiece_bpe(std::move(vocabulary), data);
}

}

Tokenizer::Tokenizer(TokenizerData data)
    : vocabulary_(
          std::make_shared<const Vocabulary>(std::move(data.tokens), std::move(data.token_types), data.unk)),
      bos_(data.bos),
      eos_(data.eos),
      add_bos_(data.add_bos) {
  vocabulary_->check_id(bos_, "bos_token_id");
  vocabulary_->check_id(eos_, "eos_token_id");
  if (add_bos_ && bos_ < 0) {
    throw std::runtime_error("tokenizer.ggml.add_bos_token is true but there is no bos_token_id");
  }
  subwords_ = make_subword_model(vocabulary_, data);
  for (int id = 0; id < static_cast<int>(vocabulary_->size()); ++id) {
    const std::string& token = vocabulary_->spelling(id);
    const TokenType type = vocabulary_->type(id);
    if (!token.empty() && (type == TokenType::control || type == TokenType::user_defined)) {
      whole_tokens_[static_cast<unsigned char>(token[0])].push_back(id);
    }
  }
  for (std::vector<int>& tokens : whole_tokens_) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](int a, int b) { return spelling(a).size() > spelling(b).size(); });
  }
}

const std::string& Tokenizer::spelling(int token) const {
  static const std::string none;
  if (token == -1) return none;
  vocabulary_->check_id(token, "tokens: the token asked for");
  return vocabulary_->spelling(token);
}

std::string Tokenizer::decode(int token, bool show_special) const {
  if (token < 0 || token >= static_cast<int>(size())) {
    throw std::runtime_error("decode: token " + std::to_string(token) + " of a vocabulary of " +
                             std::to_string(size()));
  }
  if (vocabulary_->is_special(token)) return show_special ? spelling(token) : std::string();
  return vocabulary_->type(token) == TokenType::user_defined ? spelling(token) : subwords_->decode(token);
}

// The control or user-defined token that `text` begins with, or -1.
int Tokenizer::token_at(std::string_view text, bool parse_special) const {
  for (int id : whole_tokens_[static_cast<unsigned char>(text[0])]) {
    const bool allowed = parse_special || vocabulary_->type(id) == TokenType::user_defined;
    if (allowed && text.starts_with(vocabulary_->spelling(id))) return id;
  }
  return -1;
}

std::vector<int> Tokenizer::encode(std::string_view text, bool parse_special) const {
  std::vector<int> ids;
  std::size_t ordinary = 0;  // where the text that is not yet encoded begins
  for (std::size_t at = 0; at < text.size();) {
    const int token = token_at(text.substr(at), parse_special);
    if (token < 0) {
      ++at;
      continue;
    }
    subwords_->encode(text.substr(ordinary, at - ordinary), ids);
    ids.push_back(token);
    at += spelling(token).size();
    ordinary = at;
  }
  subwords_->encode(text.substr(ordinary), ids);
  return ids;
}

std::vector<int> Tokenizer::encode_prompt(std::string_view text, bool parse_special) const {
  std::vector<int> ids = encode(text, parse_special);
  if (add_bos_ && (ids.empty() || ids.front() != bos_)) ids.insert(ids.begin(), bos_);
  return ids;
}

std::string StreamDecoder::push(int token) {
  pending_ += tokenizer_->decode(token, show_special_);
  const std::size_t ready = pending_.size() - incomplete_suffix(pending_);
  std::string text = pending_.substr(0, ready);
  pending_.erase(0, ready);
  return text;
}

std::string StreamDecoder::finish() {
  return std::exchange(pending_, {});
}

}
