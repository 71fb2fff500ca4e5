// SPDX-License-Identifier: Apache-2.0
// Byte-level byte-pair encoding: words of bytes, joined by a list of merges.
#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "generate/merge_symbols.hpp"
#include "generate/pretokenizer.hpp"
#include "generate/subword_model.hpp"
#include "generate/unicode.hpp"

namespace generate {
namespace {

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

class ByteLevelBpe final : public SubwordModel {
 public:
  ByteLevelBpe(std::shared_ptr<const Vocabulary> vocabulary, const TokenizerData& data)
      : vocabulary_(std::move(vocabulary)),
        pattern_(split_pattern(data.pre)),
        add_space_prefix_(data.add_space_prefix) {
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      const std::optional<int> id = vocabulary_->find(spell_byte(static_cast<unsigned char>(byte)));
      byte_ids_[byte] = id && !vocabulary_->is_special(*id) ? *id : -1;
    }
    read_merges(data.merges);
  }

  void encode(std::string_view text, std::vector<int>& ids) const override {
    std::string prefixed;
    if (add_space_prefix_ && !text.empty() && text[0] != ' ') {
      prefixed = " " + std::string(text);
      text = prefixed;
    }
    for (std::string_view word : split_words(text, pattern_)) encode_word(word, ids);
  }

  std::string decode(int token) const override { return unspell(vocabulary_->spelling(token)); }

 private:
  void read_merges(const std::vector<std::string>& merges) {
    merges_.reserve(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const std::string_view merge = merges[rank];
      const std::size_t space = merge.find(' ');
      const std::string_view left = merge.substr(0, space);
      const std::string_view right = space == merge.npos ? std::string_view() : merge.substr(space + 1);
      const std::optional<int> left_id = vocabulary_->find(left);
      const std::optional<int> right_id = vocabulary_->find(right);
      const std::optional<int> merged_id = vocabulary_->find(std::string(left) + std::string(right));
      if (left.empty() || right.empty() || !left_id || !right_id || !merged_id) {
        throw std::runtime_error(
            "tokenizer.ggml.merges[" + std::to_string(rank) + "] is '" + std::string(merge) +
            "': it must be two tokens, a space between them, that together spell a third");
      }
      merges_.try_emplace(pair_key(*left_id, *right_id), Merge<int>{static_cast<double>(rank), *merged_id});
    }
  }

  void encode_word(std::string_view word, std::vector<int>& ids) const {
    // The Llama 3 vocabulary has words that its merges do not reach; it asks for them to be taken whole.
    if (pattern_ == SplitPattern::llama3) {
      const std::optional<int> whole = vocabulary_->find(spell(word));
      if (whole && !vocabulary_->is_special(*whole)) {
        ids.push_back(*whole);
        return;
      }
    }
    std::vector<int> symbols;
    symbols.reserve(word.size());
    for (char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      symbols.push_back(byte_ids_[byte] < 0 ? vocabulary_->unknown_for(byte) : byte_ids_[byte]);
    }
    merge_symbols(symbols, [&](int left, int right) {
      const auto found = merges_.find(pair_key(left, right));
      return found == merges_.end() ? std::nullopt : std::optional(found->second);
    });
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  SplitPattern pattern_;
  bool add_space_prefix_;
  std::unordered_map<std::uint64_t, Merge<int>> merges_;  // by the ids of the left and the right half
  std::array<int, 256> byte_ids_{};                       // -1 for a byte without a token
};

}

std::unique_ptr<const SubwordModel> make_byte_level_bpe(std::shared_ptr<const Vocabulary> vocabulary,
                                                        const TokenizerData& data) {
  return std::make_unique<ByteLevelBpe>(std::move(vocabulary), data);
}

}
