// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding with a heap of candidate merges, so that a word of n bytes costs O(n log n).
#include "generate/tokenizer.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

#include "generate/unicode.hpp"

namespace generate {
namespace {

enum TokenType { normal = 1, unknown = 2, control = 3, user_defined = 4 };

// GPT-2 spells every byte as a printable character: the printable ones of Latin-1 stand for themselves, the
// others become U+0100, U+0101, ... in ascending order.
constexpr bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

constexpr std::array<char32_t, 256> byte_characters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    characters[static_cast<std::size_t>(byte)] = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}();

std::string spell_byte(unsigned char byte) {
  const char32_t c = byte_characters[byte];
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  return {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
}

std::string spell(std::string_view bytes) {
  std::string spelling;
  for (char byte : bytes) spelling += spell_byte(static_cast<unsigned char>(byte));
  return spelling;
}

// The inverse of `spell`; characters that spell no byte are kept.
std::string unspell(std::string_view spelling) {
  std::string bytes;
  for (std::size_t offset = 0; offset < spelling.size();) {
    const Character character = character_at(spelling, offset);
    const auto* byte = std::find(byte_characters.begin(), byte_characters.end(), character.code_point);
    if (character.valid && byte != byte_characters.end()) {
      bytes += static_cast<char>(byte - byte_characters.begin());
    } else {
      bytes += spelling.substr(offset, character.size);
    }
    offset += character.size;
  }
  return bytes;
}

std::uint64_t pair_key(int left, int right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

std::string hexadecimal(unsigned char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

}

Tokenizer::Tokenizer(TokenizerData data) : data_(std::move(data)), pattern_(split_pattern(data_.pre)) {
  // Merged ids are int, and -1 must stay free.
  if (data_.tokens.empty() || data_.tokens.size() > std::size_t{1} << 30) {
    throw std::runtime_error("tokenizer.ggml.tokens has " + std::to_string(data_.tokens.size()) +
                             " entries: from 1 to 2^30 are possible");
  }
  if (!data_.token_types.empty() && data_.token_types.size() != data_.tokens.size()) {
    throw std::runtime_error("tokenizer.ggml.token_type has " + std::to_string(data_.token_types.size()) +
                             " entries for " + std::to_string(data_.tokens.size()) + " tokens");
  }
  check_id(data_.bos, "bos_token_id");
  check_id(data_.eos, "eos_token_id");
  check_id(data_.unk, "unknown_token_id");
  if (data_.add_bos && data_.bos < 0) {
    throw std::runtime_error("tokenizer.ggml.add_bos_token is true but there is no bos_token_id");
  }
  ids_.reserve(data_.tokens.size());
  for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
    const int id = static_cast<int>(i);
    const std::string& token = data_.tokens[i];
    ids_.emplace(token, id);
    if (!token.empty() && (type(id) == control || type(id) == user_defined)) {
      whole_tokens_[static_cast<unsigned char>(token[0])].push_back(id);
    }
  }
  for (std::vector<int>& tokens : whole_tokens_) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](int a, int b) { return spelling(a).size() > spelling(b).size(); });
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const std::optional<int> id = find(spell_byte(static_cast<unsigned char>(byte)));
    byte_ids_[byte] = id && !is_special(*id) ? *id : -1;
  }
  read_merges();
}

void Tokenizer::check_id(int id, std::string_view field) const {
  if (id >= -1 && id < static_cast<int>(data_.tokens.size())) return;
  throw std::runtime_error("tokenizer.ggml." + std::string(field) + " is " + std::to_string(id) +
                           ": there are " + std::to_string(data_.tokens.size()) + " tokens");
}

void Tokenizer::read_merges() {
  merges_.reserve(data_.merges.size());
  for (std::size_t rank = 0; rank < data_.merges.size(); ++rank) {
    const std::string_view merge = data_.merges[rank];
    const std::size_t space = merge.find(' ');
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = space == merge.npos ? std::string_view() : merge.substr(space + 1);
    const std::optional<int> left_id = find(left);
    const std::optional<int> right_id = find(right);
    const std::optional<int> merged_id = find(std::string(left) + std::string(right));
    if (left.empty() || right.empty() || !left_id || !right_id || !merged_id) {
      throw std::runtime_error("tokenizer.ggml.merges[" + std::to_string(rank) + "] is '" +
                               std::string(merge) +
                               "': it must be two tokens, a space between them, that together spell a third");
    }
    merges_.try_emplace(pair_key(*left_id, *right_id), Merge{rank, *merged_id});
  }
  data_.merges = {};  // a few megabytes that nothing reads again
}

int Tokenizer::type(int token) const {
  return data_.token_types.empty() ? normal : data_.token_types[static_cast<std::size_t>(token)];
}

bool Tokenizer::is_special(int token) const {
  return type(token) == control || type(token) == unknown;
}

std::optional<int> Tokenizer::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional<int>(found->second);
}

const std::string& Tokenizer::spelling(int token) const {
  static const std::string none;
  if (token == -1) return none;
  check_id(token, "tokens: the token asked for");
  return data_.tokens[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(int token, bool show_special) const {
  if (token < 0 || token >= static_cast<int>(data_.tokens.size())) {
    throw std::runtime_error("decode: token " + std::to_string(token) + " of a vocabulary of " +
                             std::to_string(data_.tokens.size()));
  }
  if (is_special(token)) return show_special ? spelling(token) : std::string();
  return type(token) == user_defined ? spelling(token) : unspell(spelling(token));
}

// The control or user-defined token that `text` begins with, or -1.
int Tokenizer::token_at(std::string_view text, bool parse_special) const {
  for (int id : whole_tokens_[static_cast<unsigned char>(text[0])]) {
    if ((parse_special || type(id) == user_defined) && text.starts_with(spelling(id))) return id;
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
    encode_ordinary(text.substr(ordinary, at - ordinary), ids);
    ids.push_back(token);
    at += spelling(token).size();
    ordinary = at;
  }
  encode_ordinary(text.substr(ordinary), ids);
  return ids;
}

std::vector<int> Tokenizer::encode_prompt(std::string_view text, bool parse_special) const {
  std::vector<int> ids = encode(text, parse_special);
  if (data_.add_bos && (ids.empty() || ids.front() != data_.bos)) ids.insert(ids.begin(), data_.bos);
  return ids;
}

void Tokenizer::encode_ordinary(std::string_view text, std::vector<int>& ids) const {
  std::string prefixed;
  if (data_.add_space_prefix && !text.empty() && text[0] != ' ') {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  for (std::string_view word : split_words(text, pattern_)) encode_word(word, ids);
}

void Tokenizer::encode_word(std::string_view word, std::vector<int>& ids) const {
  // The Llama 3 vocabulary has words that its merges do not reach; it asks for them to be taken whole.
  if (pattern_ == SplitPattern::llama3) {
    if (const std::optional<int> whole = find(spell(word)); whole && !is_special(*whole)) {
      ids.push_back(*whole);
      return;
    }
  }
  std::vector<int> symbols;
  symbols.reserve(word.size());
  for (char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte_ids_[byte] < 0 && (data_.unk < 0 || type(data_.unk) == control)) {
      throw std::runtime_error("the text has a byte " + hexadecimal(byte) +
                               ", for which the model's vocabulary has no token");
    }
    symbols.push_back(byte_ids_[byte] < 0 ? data_.unk : byte_ids_[byte]);
  }
  merge_symbols(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

const Tokenizer::Merge* Tokenizer::find_merge(int left, int right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Applies the most urgent merge, the leftmost of equals, until none is left. A merged symbol lives on in the
// place of its left half; `next` and `previous` link the places still alive.
void Tokenizer::merge_symbols(std::vector<int>& symbols) const {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  constexpr int dead = -1;
  const std::size_t count = symbols.size();
  std::vector<std::size_t> next(count);
  std::vector<std::size_t> previous(count);
  struct Candidate {
    std::size_t rank;
    std::size_t place;
    int left;
    int right;
    int merged;
    bool operator>(const Candidate& other) const {
      return std::pair(rank, place) > std::pair(other.rank, other.place);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](std::size_t place) {
    if (place == none || next[place] == none) return;
    const int left = symbols[place];
    const int right = symbols[next[place]];
    if (const Merge* merge = find_merge(left, right)) {
      candidates.push({merge->rank, place, left, right, merge->token});
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? none : i - 1;
    next[i] = i + 1 == count ? none : i + 1;
  }
  for (std::size_t i = 0; i < count; ++i) propose(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const std::size_t right = next[best.place];
    if (symbols[best.place] != best.left || right == none || symbols[right] != best.right) continue;  // stale
    symbols[best.place] = best.merged;
    symbols[right] = dead;
    next[best.place] = next[right];
    if (next[right] != none) previous[next[right]] = best.place;
    propose(previous[best.place]);
    propose(best.place);
  }
  std::erase(symbols, dead);
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
