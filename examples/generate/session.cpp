// SPDX-License-Identifier: Apache-2.0
// From a file to a model, and from a prompt to an answer.
#include "generate/session.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "edgeq/import/mapped_file.hpp"
#include "generate/progress.hpp"
#include "generate/sampler.hpp"

namespace generate {
namespace {

class Stopwatch {
 public:
  /// Seconds since it was made or last asked.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

edgeq::MappedFile open_model(const std::string& path) {
  std::error_code ignored;
  if (path == default_model && !std::filesystem::exists(path, ignored))
    throw std::runtime_error("there is no " + path +
                             " here: scripts/fetch_model.sh fetches it (93 MB), or name "
                             "another file with --model");
  return value_or_throw(edgeq::MappedFile::open(path));
}

}

LoadedModel load(const Options& options, const edgeq::ThreadPool& pool) {
  Stopwatch stopwatch;
  const edgeq::MappedFile mapped = open_model(options.model);
  const auto file = value_or_throw(edgeq::gguf::File::parse(mapped.bytes()));
  read_config(file);  // first: a foreign architecture is a better reason than its tokenizer
  ModelText text = read_text(file);
  const double load_seconds = stopwatch.lap();

  const std::string name = std::filesystem::path(options.model).stem().string();
  Progress progress("packing " + name, options.quiet || options.json);
  Model model =
      load_model(file, pool, [&](std::size_t done, std::size_t total) { progress.show(done, total); });
  if (text.tokenizer.size() > model.vocabulary())
    throw std::runtime_error("the tokenizer has " + std::to_string(text.tokenizer.size()) +
                             " tokens, the embedding only " + std::to_string(model.vocabulary()) + " rows");
  model = model.with(options.activation, options.isa);
  return {name, std::move(model), std::move(text), load_seconds, stopwatch.lap()};
}

Answer answer(const LoadedModel& loaded, const Options& options, const edgeq::ThreadPool& pool,
              const std::function<void(std::string_view)>& print) {
  const ModelText& text = loaded.text;
  const std::vector<int> prompt = text.encode(options.system, options.prompt, options.raw);
  const std::size_t most_tokens = options.tokens.value_or(128);
  Decoder decoder(loaded.model, prompt.size() + most_tokens, pool);
  Sampler sampler(options.sampling);
  StreamDecoder stream(text.tokenizer);
  Answer answer;
  answer.prompt_tokens = prompt.size();
  const auto emit = [&](const std::string& piece) {
    answer.text += piece;
    if (!piece.empty()) print(piece);
  };
  // An embedding may have more rows than there are tokens: those are never chosen.
  const auto choose = [&](std::span<const float> logits) {
    answer.tokens.push_back(sample(logits.first(text.tokenizer.size()), sampler));
    answer.ended = !options.ignore_eos && text.ends(answer.tokens.back());
    if (!answer.ended) emit(stream.push(answer.tokens.back()));
  };

  Stopwatch stopwatch;
  const std::span<const float> logits = decoder.append(prompt);
  answer.prefill_seconds = stopwatch.lap();
  const double linears_before = decoder.seconds_in_linears();
  choose(logits);
  while (!answer.ended && answer.tokens.size() < most_tokens) {
    choose(decoder.append({&answer.tokens.back(), 1}));
    ++answer.steps;
  }
  answer.decode_seconds = stopwatch.lap();
  answer.seconds_in_linears = decoder.seconds_in_linears() - linears_before;
  emit(stream.finish());
  return answer;
}

}
