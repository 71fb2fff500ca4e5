// SPDX-License-Identifier: Apache-2.0
// The configs that GPTQModel, compressed-tensors and fp8 loaders read.
#include "form_config.hpp"

#include <algorithm>
#include <map>

namespace tool {

using Json = nlohmann::ordered_json;

namespace {

/// The value that most linears have; the smallest of several, and `none` without any.
template <class Value, class Of>
Value most_common(std::span<const LinearDescription> linears, Value none, const Of& value_of) {
  std::map<Value, std::size_t> counts;
  for (const LinearDescription& linear : linears) ++counts[value_of(linear)];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? none : most->first;
}

/// The group size to state: -1 for one group, unless all of K is as long as other linears' groups.
std::int64_t stated_group(const LinearDescription& linear, std::size_t common) {
  if (linear.groups() > 1) return static_cast<std::int64_t>(linear.group);
  return linear.k == common ? static_cast<std::int64_t>(common) : -1;
}
std::size_t common_group(std::span<const LinearDescription> linears) {
  std::vector<LinearDescription> grouped;
  for (const LinearDescription& linear : linears)
    if (linear.groups() > 1) grouped.push_back(linear);
  return most_common(std::span<const LinearDescription>(grouped), std::size_t{0},
                     [](const LinearDescription& l) { return l.group; });
}

/// An expression that matches this name alone.
std::string exactly(const std::string& name) {
  std::string expression = "^";
  for (const char c : name) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_')
      expression += '\\';
    expression += c;
  }
  return expression + "$";
}

Json gptq_config(std::span<const LinearDescription> linears, const FormContext& context,
                 const std::vector<std::string>& plain) {
  using Kind = std::pair<int, std::int64_t>;
  const std::size_t group = common_group(linears);
  const auto kind_of = [&](const LinearDescription& l) { return Kind(l.parts.bits, stated_group(l, group)); };
  const Kind common = most_common(linears, Kind(4, -1), kind_of);
  const bool has_head = std::any_of(linears.begin(), linears.end(),
                                    [](const LinearDescription& l) { return l.name.ends_with("lm_head"); });
  const bool is_ordered =
      std::any_of(linears.begin(), linears.end(), [](const LinearDescription& l) { return l.is_ordered; });
  Json config = {{"quant_method", "gptq"},         {"bits", common.first},      {"group_size", common.second},
                 {"desc_act", is_ordered},         {"sym", !context.has_zeros}, {"lm_head", has_head},
                 {"checkpoint_format", "gptq_v2"}, {"pack_dtype", "int32"}};
  Json dynamic = Json::object();
  for (const LinearDescription& linear : linears)
    if (const Kind kind = kind_of(linear); kind != common)
      dynamic["+:" + exactly(linear.name)] = {{"bits", kind.first}, {"group_size", kind.second}};
  for (const std::string& name : plain)
    if (!name.ends_with("lm_head") || has_head) dynamic["-:" + exactly(name)] = Json::object();
  if (!dynamic.empty()) config["dynamic"] = std::move(dynamic);
  return config;
}

/// What config_groups says of the weights of a linear.
Json scheme_of(const LinearDescription& linear, std::size_t group, bool has_zeros) {
  const bool is_float = linear.parts.kind == Parts::Kind::float8;
  Json weights = {{"num_bits", linear.parts.bits},
                  {"type", is_float ? "float" : "int"},
                  {"symmetric", is_float || !has_zeros},
                  {"strategy", "channel"},
                  {"dynamic", false}};
  if (is_float && linear.is_blocked()) {
    weights["strategy"] = "block";
    weights["block_structure"] = {linear.parts.block_rows, linear.group};
  } else if (is_float && linear.parts.block_rows >= linear.n) {
    weights["strategy"] = "tensor";
  } else if (const std::int64_t stated = stated_group(linear, group); !is_float && stated != -1) {
    weights["strategy"] = "group";
    weights["group_size"] = stated;
  }
  if (linear.is_ordered) weights["actorder"] = "group";
  return {{"weights", std::move(weights)}, {"format", is_float ? "float-quantized" : "pack-quantized"}};
}

Json compressed_tensors_config(std::span<const LinearDescription> linears, const FormContext& context,
                               const std::vector<std::string>& plain) {
  const std::size_t group = common_group(linears);
  const auto text_of = [&](const LinearDescription& l) {
    return scheme_of(l, group, context.has_zeros).dump();
  };
  const std::string common = most_common(linears, std::string("{}"), text_of);
  std::map<std::string, Json> exceptions;  // the names of each other scheme
  for (const LinearDescription& linear : linears)
    if (const std::string text = text_of(linear); text != common) exceptions[text].push_back(linear.name);

  Json groups = Json::object();
  const auto add = [&](const std::string& scheme, Json targets) {
    Json entry = Json::parse(scheme);
    entry["targets"] = std::move(targets);
    entry["input_activations"] = nullptr;
    entry["output_activations"] = nullptr;
    groups["group_" + std::to_string(groups.size())] = std::move(entry);
  };
  add(common, Json::array({"Linear"}));
  for (const auto& [scheme, names] : exceptions) add(scheme, names);
  return {{"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"},
          {"format", exceptions.empty() ? groups["group_0"]["format"] : Json("mixed-precision")},
          {"config_groups", groups},
          {"ignore", plain}};
}

Json fp8_config(const FormContext& context, const std::vector<std::string>& plain) {
  Json config = {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"activation_scheme", "dynamic"}};
  if (context.block) config["weight_block_size"] = *context.block;
  config["modules_to_not_convert"] = plain;
  return config;
}

}

Json quantization_config(Form form, std::span<const LinearDescription> linears, const FormContext& context,
                         const std::vector<std::string>& plain) {
  if (form == Form::gptq) return gptq_config(linears, context, plain);
  if (form == Form::fp8) return fp8_config(context, plain);
  return compressed_tensors_config(linears, context, plain);
}

}
