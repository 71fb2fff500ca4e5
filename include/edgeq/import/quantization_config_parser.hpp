// SPDX-License-Identifier: Apache-2.0
// The reading of each method's keys behind QuantizationConfig::parse. Users include
// edgeq/import/quantization_config.hpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/json.hpp"
#include "edgeq/import/quantization_config.hpp"
#include "edgeq/import/quantization_config_compressed_tensors.hpp"
#include "edgeq/import/quantization_config_fields.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::detail {

// Turns the fields of each method into rules. What follows the first error is without effect.
class QuantizationConfigParser : CompressedTensorsFields {
 public:
  Result<std::vector<quantization::Rule>> parse(std::string_view text) {
    const auto document = json::Document::parse(text, "quantization config");
    if (!document) return document.error();
    if (const auto config = find_config(document->root())) read(*config);
    if (error_) return *std::move(error_);
    return std::move(rules_);
  }

 private:
  using Weights = quantization::Weights;

  void add(ModulePattern modules, std::optional<Weights> weights) {
    if (!error_) rules_.push_back({std::move(modules), std::move(weights)});
  }
  void add_expression(std::string_view expression, std::optional<Weights> weights) {
    auto pattern = ModulePattern::regex(expression);
    if (!pattern) return fail(pattern.error().code, pattern.error().message);
    add(*std::move(pattern), std::move(weights));
  }
  void add_for_all(Weights weights) { add(ModulePattern::containing(""), std::move(weights)); }

  // --- Where the config is, and whose it is.

  static std::optional<json::Value> find_config(json::Value root) {
    const Keys keys = {"quantization_config", "compression_config"};
    if (auto config = field(root, keys)) return config;
    if (const auto model = field(root, {"text_config"})) {
      if (auto config = field(*model, keys)) return config;
    }
    // hf_quant_config.json of ModelOpt, whose producer stands beside it
    if (field(root, {"producer"})) {
      if (auto config = field(root, {"quantization"})) return config;
    }
    return field(root, {"quant_method", "bits", "w_bit"}) ? std::optional(root) : std::nullopt;
  }

  void read(json::Value config) {
    if (!config.is_object()) return fail(ErrorCode::invalid_file, "it must be an object");
    std::string_view method = text(config, {"quant_method"});
    // The files of old writers do not name it.
    if (method.empty()) {
      method = field(config, {"quant_algo"})   ? "modelopt"
               : field(config, {"zero_point"}) ? "awq"
               : field(config, {"bits"})       ? "gptq"
                                               : "";
    }
    if (method == "gptq") return read_gptq(config);
    if (method == "awq") return read_awq(config);
    if (method == "compressed-tensors") return read_compressed_tensors(config);
    if (method == "fp8") return read_fp8(config);
    if (method == "mxfp4") return read_mxfp4(config);
    if (method == "modelopt") return read_modelopt(config);
    refuse("quant_method", method, "which is not read");
  }

  // --- GPTQ

  void read_gptq(json::Value config) {
    quantization::Gptq all;
    for (const std::string_view key : {"format", "checkpoint_format"}) {  // both: the latter counts
      const std::string_view format = text(config, {key}, "gptq");
      if (format != "gptq" && format != "gptq_v2") {
        return refuse(key, format, "only \"gptq\" and \"gptq_v2\" are read");
      }
      if (!field(config, {key})) continue;
      all.checkpoint_format = format == "gptq" ? quantization::Gptq::CheckpointFormat::v1
                                               : quantization::Gptq::CheckpointFormat::v2;
    }
    if (boolean(config, {"is_marlin_format"}, false)) {
      return fail(ErrorCode::unsupported, "is_marlin_format is true, Marlin's layout is not read");
    }
    all = gptq_fields(config, all);
    if (!boolean(config, {"lm_head"}, false)) add(ModulePattern::components("lm_head"), std::nullopt);
    if (const auto dynamic = field(config, {"dynamic"})) {
      if (!dynamic->is_object()) return fail(ErrorCode::invalid_file, "dynamic must be an object");
      for (const auto& [expression, overrides] : dynamic->members()) {
        if (expression.starts_with("-:")) {
          add_expression(expression.substr(2), std::nullopt);
        } else {
          const bool is_marked = expression.starts_with("+:");
          add_expression(expression.substr(is_marked ? 2 : 0), gptq_fields(overrides, all));
        }
      }
    }
    // Names, or lists of the names that are quantized one after the other; without a name it says nothing.
    const auto blocks = field(config, {"modules_in_block_to_quantize"});
    if (blocks && !blocks->is_array()) {
      return fail(ErrorCode::invalid_file, "modules_in_block_to_quantize must be an array");
    }
    std::vector<std::string_view> names;
    if (blocks) {
      for (const json::Value item : blocks->items()) {
        for (const std::string_view name : strings(item, "modules_in_block_to_quantize"))
          names.push_back(name);
      }
    }
    for (const std::string_view name : names) add(ModulePattern::components(name), all);
    if (names.empty()) add_for_all(all);
  }

  // The fields that a module may override, from those that hold otherwise.
  quantization::Gptq gptq_fields(json::Value config, quantization::Gptq otherwise) {
    if (!config.is_object()) fail(ErrorCode::invalid_file, "the overrides of a module must be an object");
    if (const std::string_view type = text(config, {"pack_dtype"}, "int32"); type != "int32") {
      refuse("pack_dtype", type, "only \"int32\" is read");
    }
    quantization::Gptq result = otherwise;
    result.bits = bits(config, {"bits", "w_bit"}, otherwise.bits, {2, 3, 4, 8}, "GPTQ");
    result.group_size =
        group_size(config, otherwise.group_size == 0 ? -1 : static_cast<std::int64_t>(otherwise.group_size));
    result.desc_act = boolean(config, {"desc_act"}, otherwise.desc_act);
    result.sym = boolean(config, {"sym"}, otherwise.sym);
    return result;
  }

  // --- AWQ

  void read_awq(json::Value config) {
    for (const std::string_view key : {"version", "checkpoint_format", "format"}) {
      std::string version(text(config, {key}, "gemm"));
      for (char& c : version)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (version != "gemm") return refuse(key, version, "only \"gemm\" is read");
    }
    if (text(config, {"backend"}) == "llm-awq") {
      return refuse("backend", "llm-awq", "whose layout is not that of \"gemm\"");
    }
    bits(config, {"bits", "w_bit"}, 4, {4}, "AWQ");
    if (!boolean(config, {"zero_point"}, true)) {
      return fail(ErrorCode::unsupported, "zero_point is false, which \"gemm\" does not have");
    }
    for (const std::string_view name : texts(config, "modules_to_not_convert"))
      add(ModulePattern::containing(name), std::nullopt);
    add(ModulePattern::components("lm_head"), std::nullopt);  // AutoAWQ leaves it alone
    add_for_all(quantization::Awq{group_size(config, 128)});
  }

  // --- compressed-tensors

  void read_compressed_tensors(json::Value config) {
    if (const auto sparsity = field(config, {"sparsity_config"})) {
      const std::string_view format = text(*sparsity, {"format"}, "dense");
      if (format != "dense") return refuse("sparsity_config's format", format, "which is not read");
    }
    if (const auto transforms = field(config, {"transform_config"})) {
      const auto groups = field(*transforms, {"config_groups"});
      if (groups && groups->members().begin() != groups->members().end()) {
        return fail(ErrorCode::unsupported,
                    "transform_config asks for transforms of x, which nothing here does");
      }
    }
    for (const std::string_view target : texts(config, "ignore")) add_target(target, std::nullopt);

    const auto groups = field(config, {"config_groups"});
    if (!groups || !groups->is_object()) {
      return fail(ErrorCode::invalid_file, "config_groups must be an object");
    }
    const std::string_view version = text(config, {"version"});
    if (version.size() > 64) return fail(ErrorCode::invalid_file, "version has more than 64 characters");
    const std::string_view format = text(config, {"format"});
    std::vector<std::pair<std::string_view, std::optional<Weights>>> targets;
    for (const auto& [name, group] : groups->members()) {
      if (!group.is_object()) return fail(ErrorCode::invalid_file, "a config group must be an object");
      const auto weights = group_weights(group, text(group, {"format"}, format), version);
      for (const std::string_view target : texts(group, "targets")) targets.emplace_back(target, weights);
    }
    // A name counts before an expression, and both before the class of a module.
    const auto rank = [](std::string_view target) {
      return target == linear_class ? 2 : target.starts_with("re:") ? 1 : 0;
    };
    std::stable_sort(targets.begin(), targets.end(),
                     [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
    for (auto& [target, weights] : targets) add_target(target, std::move(weights));
  }

  static constexpr std::string_view linear_class = "Linear";

  void add_target(std::string_view target, std::optional<Weights> weights) {
    if (target.starts_with("re:")) {
      add_expression(target.substr(3), std::move(weights));
    } else if (target == linear_class) {
      add(ModulePattern::containing(""), std::move(weights));
    } else {
      add(ModulePattern::exactly(target), std::move(weights));
    }
  }

  // --- Methods with a list of exceptions

  void add_exceptions(json::Value config, Keys keys) {
    for (const std::string_view key : keys)
      for (const std::string_view name : texts(config, key))
        add(ModulePattern::components(name), std::nullopt);
  }

  void read_fp8(json::Value config) {
    if (const std::string_view format = text(config, {"fmt"}, "e4m3");
        format != "e4m3" && format != "float8_e4m3fn") {
      return refuse("fmt", format, "only \"e4m3\" and \"float8_e4m3fn\" are read");
    }
    add_exceptions(config, {"modules_to_not_convert", "ignored_layers"});
    add_for_all(quantization::Fp8{block(config, {"weight_block_size"})});
  }

  void read_mxfp4(json::Value config) {
    add_exceptions(config, {"modules_to_not_convert"});
    add_for_all(quantization::Mxfp4{});
  }

  void read_modelopt(json::Value config) {
    const std::string_view algorithm = text(config, {"quant_algo"});
    if (algorithm != "NVFP4" && algorithm != "W4A16_NVFP4") {
      return refuse("quant_algo", algorithm, "only \"NVFP4\" and \"W4A16_NVFP4\" are read");
    }
    if (const std::size_t size = group_size(config, 16); size != 16) {
      return fail(ErrorCode::unsupported,
                  "group_size is " + std::to_string(size) + ", NVFP4 has groups of 16");
    }
    add_exceptions(config, {"exclude_modules", "ignore"});
    add_for_all(quantization::ModelOptNvfp4{});
  }

  std::vector<quantization::Rule> rules_;
};

}

namespace edgeq::inline EDGEQ_BASELINE {

inline Result<QuantizationConfig> QuantizationConfig::parse(std::string_view text) {
  auto rules = detail::QuantizationConfigParser().parse(text);
  if (!rules) return rules.error();
  return QuantizationConfig(std::move(rules).value());
}

}
