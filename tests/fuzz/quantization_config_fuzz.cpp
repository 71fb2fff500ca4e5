// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary texts to the reader of quantization configs and to that of module patterns, and asks what
// it accepts for modules: no fault, no endless match. Seeds: make_quantization_config_corpus.py.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "edgeq/import/quantization_config.hpp"
#include "use.hpp"

namespace {

using namespace edgeq;

constexpr std::string_view modules[] = {"", "lm_head", "model.layers.10.self_attn.q_proj",
                                        "model.layers.0.mlp.gate",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\xff"};

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = QuantizationConfig::parse(text);
  if (config.ok()) {
    for (const std::string_view module : modules) {
      const quantization::Weights* weights = config->find(module);
      test::check(weights == nullptr || !weights->valueless_by_exception());
    }
  } else {
    test::check(config.error().message.starts_with("quantization config: "));
  }

  const auto pattern = ModulePattern::regex(text);
  if (pattern.ok()) {
    for (const std::string_view module : modules) (void)pattern->matches(module);
  } else {
    test::check(pattern.error().message.starts_with("the expression "));
  }
  test::check(ModulePattern::exactly(text).matches(text));
  const bool is_one_line = text.find('\n') == text.npos;
  test::check(!is_one_line || ModulePattern::containing(text).matches(text));
  test::check(!is_one_line || ModulePattern::components(text).matches(text));
  return 0;
}
