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

// A token id, or -1. What exceeds the vocabulary is refused by the tokenizer.
int find_token(const File& file, std::string_view key) {
  const Value* value = file.find(key);
  if (value == nullptr) return -1;
  const auto id = value->as_i64();
  if (!id || *id < -1 || *id > 0x7FFFFFFF)
    throw std::runtime_error("the model file's key " + std::string(key) + " is not a token id");
  return static_cast<int>(*id);
}

TokenizerData read_tokenizer(const File& file) {
  const std::string kind = find_text(file, "tokenizer.ggml.model").value_or("");
  if (kind != "gpt2")
    throw std::runtime_error("the tokenizer is \"" + kind +
                             "\"; only byte-level byte-pair encoding (\"gpt2\") is supported");
  TokenizerData data;
  data.tokens = need_texts(file, "tokenizer.ggml.tokens");
  data.merges = need_texts(file, "tokenizer.ggml.merges");
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
  data.bos = find_token(file, "tokenizer.ggml.bos_token_id");
  data.eos = find_token(file, "tokenizer.ggml.eos_token_id");
  data.unk = find_token(file, "tokenizer.ggml.unknown_token_id");
  data.add_bos = find_flag(file, "tokenizer.ggml.add_bos_token", false);
  data.add_space_prefix = find_flag(file, "tokenizer.ggml.add_space_prefix", false);
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
  if (!raw && !chat_template.empty()) {
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
