// SPDX-License-Identifier: Apache-2.0
// Loads a model file and writes an answer with it, keeping the times.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/decoder.hpp"
#include "generate/model.hpp"
#include "generate/model_text.hpp"
#include "generate/options.hpp"

namespace generate {

/// A model ready to run, and what it took.
struct LoadedModel {
  std::string name;  ///< the file's, without its folder and .gguf
  Model model;       ///< under the activation and instruction set of the options
  ModelText text;
  double load_seconds = 0;  ///< opening, checking, building the tokenizer
  double pack_seconds = 0;  ///< reading the weights and packing them
};

/// Loads options.model. `quiet` keeps progress off stderr. Throws std::runtime_error.
LoadedModel load(const Options& options, const edgeq::ThreadPool& pool);

/// An answer and its times. The first token comes out of the prefill, so there is one decode step less than
/// there are tokens.
struct Answer {
  std::string text;
  std::vector<int> tokens;  ///< the end token, if one came, included
  bool ended = false;       ///< by an end token
  std::size_t prompt_tokens = 0;
  std::size_t steps = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;      ///< of all steps, sampling and output included
  double seconds_in_linears = 0;  ///< of decode_seconds
};

/// Answers options.prompt; `print` gets the text piece by piece, whole characters only.
Answer answer(const LoadedModel& loaded, const Options& options, const edgeq::ThreadPool& pool,
              const std::function<void(std::string_view)>& print);

}
