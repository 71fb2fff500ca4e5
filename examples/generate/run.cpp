// SPDX-License-Identifier: Apache-2.0
// The four things the program does: answer, explain, compare with f32, measure perplexity.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "edgeq/import/mapped_file.hpp"
#include "generate/fidelity.hpp"
#include "generate/options.hpp"
#include "generate/progress.hpp"
#include "generate/report.hpp"
#include "generate/session.hpp"

namespace generate {
namespace {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string read_file(const std::string& path) {
  const edgeq::MappedFile file = value_or_throw(edgeq::MappedFile::open(path));
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  const std::string content = read_file(path);
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::string line = content.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (lines.empty()) throw std::runtime_error("\"" + path + "\" has no prompt, one a line");
  return lines;
}

void run_answer(const Options& options, const LoadedModel& loaded, const edgeq::ThreadPool& pool) {
  Answer result = answer(loaded, options, pool, [&](std::string_view piece) {
    if (!options.json) print(piece);
  });
  if (!options.json) print("\n");
  if (options.quiet) return;
  const Report report = make_report(loaded, std::move(result), pool);
  print(options.json ? to_text(to_json(report)) + "\n" : "\n" + to_table(report));
}

void run_fidelity(const Options& options, const LoadedModel& loaded, const edgeq::ThreadPool& pool) {
  const std::vector<std::string> prompts = read_lines(options.fidelity);
  const std::size_t tokens = options.tokens.value_or(64);
  std::vector<std::vector<int>> encoded;
  std::size_t longest = 0;
  for (const std::string& prompt : prompts) {
    encoded.push_back(loaded.text.encode(options.system, prompt, options.raw));
    longest = std::max(longest, encoded.back().size());
  }
  const Model exact_model = loaded.model.with("f32", "");
  Decoder exact(exact_model, longest + tokens, pool), reduced(loaded.model, longest + tokens, pool);
  std::vector<Fidelity> results;
  Progress progress("comparing", options.quiet || options.json);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    results.push_back(compare_greedy(exact, reduced, encoded[i], tokens, [&](int token) {
      return !options.ignore_eos && loaded.text.ends(token);
    }));
    results.back().prompt = prompts[i];
    progress.show(i + 1, prompts.size());
  }
  print(options.json ? to_text(to_json(results, options.activation)) + "\n"
                     : to_table(results, options.activation));
}

void run_perplexity(const Options& options, const LoadedModel& loaded, const edgeq::ThreadPool& pool) {
  constexpr std::size_t longest_window = 512;
  const Tokenizer& tokenizer = loaded.text.tokenizer;
  const std::vector<int> text = tokenizer.encode(read_file(options.perplexity), false),
                         prefix = tokenizer.encode_prompt("", false);
  const std::size_t window = std::min(longest_window, loaded.model.config.context - prefix.size());
  if (text.size() + prefix.size() < 2)
    throw std::runtime_error("\"" + options.perplexity + "\" is too short: perplexity needs two tokens");
  const auto measure = [&](const Model& model) {
    Decoder decoder(model, std::min(window, text.size()) + prefix.size(), pool);
    return measure_perplexity(decoder, text, prefix, window);
  };
  const Perplexity reduced = measure(loaded.model), exact = measure(loaded.model.with("f32", ""));
  if (options.json) {
    const nlohmann::ordered_json object = {{"activation", options.activation},
                                           {"tokens", reduced.tokens},
                                           {"window", window},
                                           {"perplexity", reduced.value},
                                           {"perplexity_f32", exact.value}};
    print(to_text(object) + "\n");
  } else {
    std::printf(
        "%zu tokens in windows of %zu\n  perplexity %10.5f  %s activations\n  perplexity %10.5f  f32\n",
        reduced.tokens, window, reduced.value, options.activation.c_str(), exact.value);
  }
}

}

void run(const Options& options) {
  const edgeq::ThreadPool pool(options.threads == 0 ? edgeq::default_thread_count() : options.threads);
  const LoadedModel loaded = load(options, pool);
  if (!options.fidelity.empty()) return run_fidelity(options, loaded, pool);
  if (!options.perplexity.empty()) return run_perplexity(options, loaded, pool);
  if (!options.explain) return run_answer(options, loaded, pool);
  print(explain(loaded.model, loaded.text.encode(options.system, options.prompt, options.raw).size()));
}

}
