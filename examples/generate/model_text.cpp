// SPDX-License-Identifier: Apache-2.0
// Reads tokenizer.* and renders prompts.
#include "generate/model_text.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "generate/chat_template.hpp"
#include "generate/metadata.hpp"

namespace generate {
namespace {

using edgeq::gguf::File;
using edgeq::gguf::Value;

std::vector<std::string> need_texts(const File& file, std::string_view key) {
  const Value* value = file.find(key);
  const auto views = value == nullptr ? std::nullopt : value->as_strings();
  if (!views) throw std::runtime_error("the model file has no list of texts under " + std::string(key));
  return {views->begin(), views->end()};
}

std::vector<float> need_floats(const File& file, std::string_view key) {
  const Value* value = file.find(key);
  auto floats = value == nullptr ? std::nullopt : value->as_f32s();
  if (!floats) throw std::runtime_error("the model file has no list of floats under " + std::string(key));
  return *std::move(floats);
}

// A token id, or -1 for none. What exceeds the vocabulary is refused by the tokenizer.
int find_token(const File& file, std::string_view key, int otherwise = -1) {
  const Value* value = file.find(key);
  if (value == nullptr) return otherwise;
  const auto id = value->as_i64();
  if (!id || *id < -1 || *id > 0x7FFFFFFF)
    throw std::runtime_error("the model file's key " + std::string(key) + " is not a token id");
  return static_cast<int>(*id);
}

// What a kind of tokenizer is called, and what is assumed of keys that a file lacks: ggml's choices.
struct Kind {
  const char* name;
  TokenizerKind kind;
  int bos, eos, unk;
  bool add_bos, add_space_prefix;
};
constexpr Kind kinds[] = {{"gpt2", TokenizerKind::byte_level, -1, -1, -1, false, false},
                          {"llama", TokenizerKind::sentencepiece, 1, 2, 0, true, true}};

const Kind& read_kind(const File& file) {
  const std::string name = find_text(file, "tokenizer.ggml.model").value_or("");
  for (const Kind& kind : kinds)
    if (name == kind.name) return kind;
  throw std::runtime_error("the tokenizer is \"" + name +
                           "\"; only byte-level (\"gpt2\") and SentencePiece (\"llama\") byte-pair encoding "
                           "are supported");
}

TokenizerData read_tokenizer(const File& file) {
  const Kind& kind = read_kind(file);
  TokenizerData data;
  data.kind = kind.kind;
  data.tokens = need_texts(file, "tokenizer.ggml.tokens");
  if (kind.kind == TokenizerKind::byte_level)
    data.merges = need_texts(file, "tokenizer.ggml.merges");
  else
    data.scores = need_floats(file, "tokenizer.ggml.scores");
  if (const Value* types = file.find("tokenizer.ggml.token_type")) {
    const auto numbers = types->as_i64s();
    if (!numbers)
      throw std::runtime_error("the model file's key tokenizer.ggml.token_type is not a list of integers");
    for (const std::int64_t number : *numbers) {
      // ggml's types are 1 to 6; what is none of them is as ordinary as type 1.
      data.token_types.push_back(number >= 1 && number <= 6 ? static_cast<int>(number) : 1);
    }
  }
  data.pre = find_text(file, "tokenizer.ggml.pre").value_or("default");
  data.bos = find_token(file, "tokenizer.ggml.bos_token_id", kind.bos);
  data.eos = find_token(file, "tokenizer.ggml.eos_token_id", kind.eos);
  data.unk = find_token(file, "tokenizer.ggml.unknown_token_id", kind.unk);
  data.add_bos = find_flag(file, "tokenizer.ggml.add_bos_token", kind.add_bos);
  data.add_space_prefix = find_flag(file, "tokenizer.ggml.add_space_prefix", kind.add_space_prefix);
  return data;
}

// Files often name one end token and train with another: the spellings of the common families end an answer
// too.
std::vector<int> read_end_tokens(const File& file, const Tokenizer& tokenizer) {
  std::vector<int> ends{tokenizer.eos(), find_token(file, "tokenizer.ggml.eot_token_id"),
                        find_token(file, "tokenizer.ggml.eom_token_id")};
  for (const char* spelling : {"<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>"})
    ends.push_back(tokenizer.find(spelling).value_or(-1));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::erase(ends, -1);
  return ends;
}

}

bool ModelText::ends(int token) const {
  return std::binary_search(end_tokens.begin(), end_tokens.end(), token);
}

std::vector<int> ModelText::encode(const std::string& system, const std::string& prompt, bool raw) const {
  std::string text = prompt;
  const bool plain = raw || chat_template.empty();
  if (plain && !system.empty())
    throw std::runtime_error("there is no place for a system message: the prompt is continued as it is" +
                             std::string(raw ? "" : ", for the model has no chat template"));
  if (!plain) {
    std::vector<Message> messages;
    if (!system.empty()) messages.push_back({"system", system});
    messages.push_back({"user", prompt});
    text = render_chat(chat_template, messages, true, tokenizer.spelling(tokenizer.bos()),
                       tokenizer.spelling(tokenizer.eos()));
  }
  std::vector<int> tokens = tokenizer.encode_prompt(text, true);
  if (tokens.empty()) throw std::runtime_error("the prompt is empty: there is nothing to continue");
  return tokens;
}

ModelText read_text(const File& file) {
  Tokenizer tokenizer(read_tokenizer(file));
  std::vector<int> ends = read_end_tokens(file, tokenizer);
  return {std::move(tokenizer), find_text(file, "tokenizer.chat_template").value_or(""), std::move(ends)};
}

}
