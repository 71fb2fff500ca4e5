// SPDX-License-Identifier: Apache-2.0
// Safetensors checkpoints as model files: each module by its method, every other tensor as it is.
#include <nlohmann/json.hpp>
#include <set>

#include "edgeq/import/checkpoint_linear.hpp"
#include "model_file.hpp"
#include "weights_of_source.hpp"

namespace tool {

using edgeq::CheckpointLinear;
using edgeq::CheckpointTensor;
using edgeq::Error;
using edgeq::QuantizationConfig;
using edgeq::Result;
namespace quantization = edgeq::quantization;
namespace safetensors = edgeq::safetensors;

namespace {

std::string group_text(std::size_t group) {
  return group == 0 ? " channel" : " g" + std::to_string(group);
}
std::string block_text(std::size_t rows, std::size_t columns) {
  return " b" + std::to_string(rows) + "x" + std::to_string(columns);
}

struct Describe {
  std::string operator()(const quantization::Gptq& m) const {
    const bool is_second = m.checkpoint_format == quantization::Gptq::CheckpointFormat::v2;
    return (is_second ? "gptq_v2 " : "gptq ") + std::to_string(m.bits) + " bits" + group_text(m.group_size) +
           (m.sym ? "" : " zeros") + (m.desc_act ? " act-order" : "");
  }
  std::string operator()(const quantization::Awq& m) const { return "awq 4 bits" + group_text(m.group_size); }
  std::string operator()(const quantization::CompressedTensors& m) const {
    using C = quantization::CompressedTensors;
    static constexpr const char* formats[] = {
        "pack-quantized", "int-quantized", "float-quantized", "naive-quantized", "nvfp4", "mxfp4", "mxfp8"};
    std::string text = std::string("compressed-tensors ") + formats[static_cast<std::size_t>(m.format)];
    if (m.format >= C::Format::nvfp4_pack_quantized) return text;
    text += " " + std::to_string(m.bits) + " bits";
    text += m.strategy == C::Strategy::tensor    ? " tensor"
            : m.strategy == C::Strategy::channel ? " channel"
            : m.strategy == C::Strategy::block   ? block_text(m.block[0], m.block[1])
                                                 : group_text(m.group_size);
    if (!m.symmetric) text += " zeros";
    if (m.activation_order == C::ActivationOrder::group) text += " act-order";
    return text;
  }
  std::string operator()(const quantization::Fp8& m) const {
    return "fp8" + (m.block ? block_text((*m.block)[0], (*m.block)[1]) : "");
  }
  std::string operator()(const quantization::Mxfp4&) const { return "mxfp4"; }
  std::string operator()(const quantization::ModelOptNvfp4&) const { return "modelopt nvfp4"; }
};

/// The text of a file, or empty where there is none.
Result<std::string> text_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::string();
  const auto file = edgeq::MappedFile::open(path.string());
  if (!file) return file.error();
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

/// The config that quantizes something, of the files in which methods leave theirs; the first counts.
Result<QuantizationConfig> find_config(const std::filesystem::path& folder) {
  for (const char* name :
       {"config.json", "quantize_config.json", "quant_config.json", "hf_quant_config.json"}) {
    const auto text = text_of(folder / name);
    if (!text) return text.error();
    if (text->empty()) continue;
    auto config = QuantizationConfig::parse(*text);
    if (!config) return Error{config.error().code, std::string(name) + ": " + config.error().message};
    if (!config->rules().empty()) return config;
  }
  return QuantizationConfig::parse("{}");
}

/// Whether the model of a config.json shares the embedding's weights with a head that it has none for.
bool says_tied(const std::string& config) {
  const auto json = nlohmann::json::parse(config, nullptr, false);
  if (!json.is_object()) return false;
  const auto model =
      json.contains("text_config") && json["text_config"].is_object() ? json["text_config"] : json;
  for (const auto& place : {json, model})
    if (const auto tied = place.find("tie_word_embeddings"); tied != place.end() && tied->is_boolean())
      return tied->get<bool>();
  const auto architectures = json.find("architectures");
  if (architectures == json.end() || !architectures->is_array()) return false;
  for (const auto& name : *architectures)
    if (name.is_string() && name.get<std::string>().find("CausalLM") != std::string::npos) return true;
  return false;
}

ModelItem item_of(const safetensors::Checkpoint& checkpoint, const CheckpointLinear& linear,
                  std::set<std::string_view>& used) {
  ModelItem item;
  item.name = linear.name();
  for (const std::string_view suffix : edgeq::detail::part_names(linear.method()).names) {
    const CheckpointTensor* tensor = checkpoint.tensor(item.name + std::string(suffix));
    if (tensor == nullptr) continue;
    used.insert(tensor->name);
    item.stored_bytes += tensor->data.size();
    if (linear.method() == nullptr) item.tensor = *tensor;
  }
  if (const CheckpointTensor* bias = linear.bias()) {
    used.insert(bias->name);
    item.bias = *bias;
  }
  item.stored = linear.method() ? std::visit(Describe(), *linear.method())
                                : std::string(element_info(item.tensor->type).name);
  if (item.tensor && (item.tensor->shape.size() != 2)) {
    item.shape = item.tensor->shape;
    return item;  // a convolution, or experts in one tensor: no linear
  }
  item.role = role_of_matrix(item.name);
  auto weights = linear.visit(any_weights, &item.remark);
  if (weights) {
    item.weights = *std::move(weights);
    const edgeq::WeightShape shape = item.weights->shape();
    item.shape = {shape.n, shape.k};
    if (!shape.order.empty()) item.remark += (item.remark.empty() ? "" : "; ") + std::string("act-order");
  } else {
    item.refusal = weights.error().message;
  }
  return item;
}

}

Result<ModelFile> open_checkpoint(const std::string& path) {
  auto opened = safetensors::Checkpoint::open(path);
  if (!opened) return opened.error();
  auto checkpoint = std::make_shared<safetensors::Checkpoint>(*std::move(opened));
  ModelFile model;
  model.owner = checkpoint;
  std::error_code ignored;
  model.folder = std::filesystem::is_directory(path, ignored) ? std::filesystem::path(path)
                                                              : std::filesystem::path(path).parent_path();
  auto text = text_of(model.folder / "config.json");
  if (!text) return text.error();
  model.config = *std::move(text);
  const auto config = find_config(model.folder);
  if (!config) return config.error();

  std::set<std::string_view> used;
  std::set<std::string> methods;
  bool has_head = false;
  for (const std::string& name : CheckpointLinear::modules(*checkpoint)) {
    const auto linear = CheckpointLinear::find(*checkpoint, *config, name);
    ModelItem item;
    if (linear) {
      item = item_of(*checkpoint, *linear, used);
      if (linear->method()) methods.insert(item.stored);
    } else {
      item = {.name = name, .role = role_of_matrix(name), .stored = "?", .refusal = linear.error().message};
    }
    has_head |= item.role == Role::head;
    model.items.push_back(std::move(item));
  }
  for (const CheckpointTensor& tensor : checkpoint->tensors()) {
    model.mapped.push_back(tensor.data);
    if (used.contains(tensor.name)) continue;
    model.items.push_back({.name = std::string(tensor.name),
                           .stored = std::string(element_info(tensor.type).name),
                           .shape = tensor.shape,
                           .stored_bytes = tensor.data.size(),
                           .tensor = tensor});
  }
  for (const std::string& method : methods) model.method += (model.method.empty() ? "" : ", ") + method;
  if (methods.empty()) model.method = "none";
  model.is_tied = !has_head && says_tied(model.config);
  return model;
}

}
