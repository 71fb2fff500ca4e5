// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "generate/sampler.hpp"

namespace generate {

/// Where scripts/fetch_model.sh puts the model.
inline constexpr const char* default_model = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

struct Options {
  std::string model = default_model;
  std::string prompt = "Explain in three sentences why the sky is blue.";
  std::string system;                 ///< empty: the template's own
  std::optional<std::size_t> tokens;  ///< default: 128, for --fidelity 64
  std::string activation = "int16";
  std::string isa;          ///< empty: the best
  std::size_t threads = 0;  ///< 0: as many as pay
  SamplingOptions sampling;
  bool raw = false, ignore_eos = false, explain = false, json = false, quiet = false;
  std::string fidelity, perplexity;  ///< files
};

/// Does what the options say. Throws std::runtime_error with one sentence.
void run(const Options& options);

}
