// SPDX-License-Identifier: Apache-2.0
// Writes text with a model from a GGUF file; every matrix product is an edgeq layer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

#include "generate/options.hpp"

namespace {

int refuse(std::string sentence) {
  while (!sentence.empty() && sentence.back() == '\n') sentence.pop_back();
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  std::fprintf(stderr, "generate: %s\n", sentence.c_str());
  return 1;
}

}

int main(int argc, char** argv) {
  generate::Options o;
  CLI::App app("Writes text with a model of the Llama or Gemma 3 architecture from a GGUF file.", "generate");
  app.option_defaults()->always_capture_default();
  app.add_option("--model", o.model, "GGUF file");
  app.add_option("--prompt", o.prompt, "what to answer, or to continue if the model has no chat template");
  app.add_option("--system", o.system, "the system message")->always_capture_default(false);
  app.add_option("--tokens", o.tokens, "the most tokens to write (default 128; with --fidelity 64)")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--activation", o.activation, "precision of activations")
      ->check(CLI::IsMember({"int8", "int8/group", "int16", "f32"}));
  app.add_option("--isa", o.isa, "use the kernels of one instruction set only, by its name in --explain")
      ->always_capture_default(false);
  app.add_option("--threads", o.threads, "0: as many as pay")->check(CLI::Range(0, 1024));
  app.add_option("--temperature", o.sampling.temperature, "0: always the likeliest token");
  app.add_option("--top-p", o.sampling.top_p, "sample among the likeliest that add up to this");
  app.add_option("--seed", o.sampling.seed, "the same seed writes the same text");
  app.add_flag("--raw", o.raw, "continue the prompt as it is, without the model's chat template");
  app.add_flag("--ignore-eos", o.ignore_eos, "go on after the end of the answer");
  app.add_flag("--json", o.json, "print one JSON object");
  app.add_flag("--explain", o.explain, "print which kernels would run and why, then stop")
      ->excludes("--json");
  app.add_flag("--quiet", o.quiet, "print the text alone");
  app.add_option("--fidelity", o.fidelity, "compare with f32 activations on a file of prompts, one a line")
      ->always_capture_default(false);
  app.add_option("--perplexity", o.perplexity, "perplexity of a text file, beside f32 activations")
      ->always_capture_default(false)
      ->excludes("--fidelity");
  try {
    app.parse(argc, argv);
    generate::run(o);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : refuse(error.what());
  } catch (const std::bad_alloc&) {
    return refuse("there is not enough memory");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}
