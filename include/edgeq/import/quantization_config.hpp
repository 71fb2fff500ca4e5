// SPDX-License-Identifier: Apache-2.0
// How the weights of a checkpoint are quantized, module by module: what its config.json says, whatever the
// method. Needs nlohmann::json: link edgeq::checkpoint.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/quantization_config_pattern.hpp"
#include "edgeq/import/quantization_config_weights.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace quantization {

/// Modules and how their weights are stored; nullopt: as plain floats.
struct Rule {
  ModulePattern modules;
  std::optional<Weights> weights;
};

}

/// The quantization of a checkpoint. All that its method knows of exceptions is one list of rules:
/// GPTQModel's `dynamic` overrides, `lm_head` and modules_in_block_to_quantize; modules_to_not_convert and
/// ignored_layers; the `ignore` and `config_groups` of compressed-tensors; exclude_modules.
class QuantizationConfig {
 public:
  /// Reads the text of config.json, whose key quantization_config (or compression_config; also in
  /// text_config) is meant, or of quantize_config.json, quant_config.json or hf_quant_config.json. A
  /// config.json without such a key quantizes nothing. Methods: gptq, awq, compressed-tensors, fp8, mxfp4,
  /// and modelopt with NVFP4.
  ///
  /// unsupported: another method; other layouts of the same (checkpoint formats but gptq and gptq_v2, such as
  /// gptq_p, marlin, exllama; AWQ but gemm; sparse and marlin-24 formats; transforms; pack_dtype but int32;
  /// FP8 but e4m3; bits that the method does not have); patterns that ModulePattern::regex does not express.
  /// invalid_file: the text is not JSON, a value is of the wrong kind, or values contradict each other.
  /// too_large: as json::Document says.
  static Result<QuantizationConfig> parse(std::string_view text);

  /// How the weights of a module are stored, such as "model.layers.0.mlp.down_proj" without ".weight";
  /// nullptr if they are not quantized. Modules are taken for linear layers. Tensors decide where they say
  /// otherwise: configs seldom list modules of a kind that the method never quantizes.
  const quantization::Weights* find(std::string_view module) const {
    for (const quantization::Rule& rule : rules_)
      if (rule.modules.matches(module)) return rule.weights ? &*rule.weights : nullptr;
    return nullptr;
  }

  /// The first rule that matches a module decides; without one it is not quantized.
  std::span<const quantization::Rule> rules() const noexcept { return rules_; }

 private:
  explicit QuantizationConfig(std::vector<quantization::Rule> rules) noexcept : rules_(std::move(rules)) {}

  std::vector<quantization::Rule> rules_;
};

}

#include "edgeq/import/quantization_config_parser.hpp"
