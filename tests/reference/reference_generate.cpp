// SPDX-License-Identifier: Apache-2.0
// The program that answers prompts greedily with the reference model, and says how narrow each choice was.
//
//   reference_generate --model FILE --prompts FILE --tokens N [--threads N] [--ignore-eos] > answers.json
//
// Prompts are the lines of a file that are not empty, each one user message under the model's chat template,
// or a text to be continued if the model has none. Of equal logits the lowest id is chosen. The answer ends
// with the model's end-of-text token, which is the last of `tokens` but not in `text`. The output:
//
//   {"eos": 2, "limit": 64, "prompts": [
//    {"prompt": "...", "prompt_tokens": [..], "text": "...", "tokens": [..], "second": [..], "gaps": [..]},
//    ...]}
//
// where for each position `second` is the token that came closest and `gaps` how much less its logit was.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "edgeq/import/gguf.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "generate/model_text.hpp"
#include "generate/unicode.hpp"
#include "reference/reference_model.hpp"

namespace {

using edgeq::value_or_throw;
using edgeq::gguf::File;

struct Options {
  std::string model;
  std::string prompts;
  std::size_t tokens = 0;
  std::size_t threads = 2;
  bool ignore_eos = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto next = [&]() -> const std::string& {
      if (i + 1 == arguments.size()) throw std::runtime_error(arguments[i] + " needs a value");
      return arguments[++i];
    };
    const std::string& name = arguments[i];
    if (name == "--model") {
      options.model = next();
    } else if (name == "--prompts") {
      options.prompts = next();
    } else if (name == "--tokens") {
      options.tokens = std::stoul(next());
    } else if (name == "--threads") {
      options.threads = std::stoul(next());
    } else if (name == "--ignore-eos") {
      options.ignore_eos = true;
    } else {
      throw std::runtime_error("unknown option " + name);
    }
  }
  if (options.model.empty() || options.prompts.empty() || options.tokens == 0 || options.threads == 0) {
    throw std::runtime_error(
        "usage: reference_generate --model FILE --prompts FILE --tokens N [--threads N] [--ignore-eos]");
  }
  return options;
}

std::vector<std::string> read_prompts(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> prompts;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) prompts.push_back(line);
  }
  return prompts;
}

struct Answer {
  std::string prompt;
  std::vector<int> prompt_tokens;
  std::string text;
  std::vector<int> tokens;
  std::vector<int> second;
  std::vector<double> gaps;
};

// The indices of the greatest logit and of the greatest of the others, the lowest index of equals.
std::pair<std::size_t, std::size_t> two_greatest(const std::vector<double>& logits) {
  std::size_t best = logits[1] > logits[0] ? 1 : 0;
  std::size_t second = 1 - best;
  for (std::size_t i = 2; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) {
      second = best;
      best = i;
    } else if (logits[i] > logits[second]) {
      second = i;
    }
  }
  return {best, second};
}

void answer_prompt(const reference::Model& model, const generate::Tokenizer& tokenizer,
                   const Options& options, Answer& answer) {
  reference::Sequence sequence(model);
  std::vector<int> next = answer.prompt_tokens;
  while (answer.tokens.size() < options.tokens) {
    const auto logits = sequence.append(next);
    const auto [best, second] = two_greatest(logits);
    const int token = static_cast<int>(best);
    answer.tokens.push_back(token);
    answer.second.push_back(static_cast<int>(second));
    answer.gaps.push_back(logits[best] - logits[second]);
    if (token == tokenizer.eos() && !options.ignore_eos) break;
    answer.text += tokenizer.decode(token);
    next = {token};
  }
}

// A JSON string; a byte that is no UTF-8 becomes the replacement character.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto character = generate::character_at(text, at);
    const auto bytes = text.substr(at, character.size);
    at += character.size;
    if (!character.valid) {
      result += "\\ufffd";
    } else if (bytes == "\"" || bytes == "\\") {
      result.append("\\").append(bytes);
    } else if (character.code_point < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(character.code_point));
      result += escape;
    } else {
      result += bytes;
    }
  }
  return result + "\"";
}

template <class T>
std::string listed(const std::vector<T>& values, const char* format) {
  std::string result;
  for (const T& value : values) {
    char number[32];
    std::snprintf(number, sizeof number, format, value);
    result.append(result.empty() ? "[" : ", ").append(number);
  }
  return result + "]";
}

void run(const Options& options) {
  const auto bytes = value_or_throw(edgeq::MappedFile::open(options.model));
  const File file = value_or_throw(File::parse(bytes.bytes()));
  const generate::ModelText model_text = generate::read_text(file);
  const generate::Tokenizer& tokenizer = model_text.tokenizer;
  std::vector<Answer> answers;
  for (const std::string& prompt : read_prompts(options.prompts)) {
    Answer& answer = answers.emplace_back();
    answer.prompt = prompt;
    answer.prompt_tokens = model_text.encode("", prompt, false);
  }

  // Prompts are independent, so each thread takes the next one that is left.
  const reference::Model model(file);
  std::atomic<std::size_t> taken = 0;
  std::vector<std::exception_ptr> errors(answers.size());
  const auto work = [&] {
    for (std::size_t i = taken++; i < answers.size(); i = taken++) {
      try {
        answer_prompt(model, tokenizer, options, answers[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < options.threads; ++i) threads.emplace_back(work);
  threads.clear();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }

  std::cout << "{\"eos\": " << tokenizer.eos() << ", \"limit\": " << options.tokens << ", \"prompts\": [";
  for (const Answer& answer : answers) {
    std::cout << (&answer == answers.data() ? "\n" : ",\n") << " {\"prompt\": " << quoted(answer.prompt)
              << ",\n  \"prompt_tokens\": " << listed(answer.prompt_tokens, "%d")
              << ",\n  \"text\": " << quoted(answer.text)
              << ",\n  \"tokens\": " << listed(answer.tokens, "%d")
              << ",\n  \"second\": " << listed(answer.second, "%d")
              << ",\n  \"gaps\": " << listed(answer.gaps, "%.4g") << "}";
  }
  std::cout << "\n]}\n";
}

}

int main(int argc, char** argv) {
  try {
    run(parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "reference_generate: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
