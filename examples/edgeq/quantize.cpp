// SPDX-License-Identifier: Apache-2.0
// quantize: the linears of plain floats become codes, one after the other.
#include <charconv>
#include <nlohmann/json.hpp>

#include "calibration.hpp"
#include "checkpoint_output.hpp"
#include "commands.hpp"
#include "edgeq/import/float_tensor.hpp"
#include "edgeq/import/quantization_config_pattern.hpp"
#include "packed_output.hpp"
#include "quantizer.hpp"
#include "report.hpp"

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::FloatType;
using edgeq::Result;
using edgeq::Status;

namespace {

Error invalid(const std::string& what) {
  return Error{ErrorCode::invalid_argument, what};
}

/// A number of at least 1 that is all of the text; 0 of other texts.
std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// The options, checked and understood.
struct Scheme {
  bool is_float8 = false;
  int bits = 4;
  bool has_zeros = false;
  std::size_t group = 0;                          ///< 0: one per row
  std::size_t block_rows = 1, block_columns = 0;  ///< of float8; 0: all of K
  std::optional<FloatType> scale;                 ///< nullopt: that of the weights
  edgeq::quantize::Search search = edgeq::quantize::Search::extremes;
  std::vector<edgeq::ModulePattern> ignored;

  static Result<Scheme> of(const QuantizeOptions& options);

  IntegerCodes codes_for(const AnyWeights& weights) const {
    const std::size_t k = std::max<std::size_t>(weights.shape().k, 1);
    const FloatType stored = edgeq::stored_float_type(weights.parts().type);
    return {bits, has_zeros, scale.value_or(stored), group == 0 ? k : std::min(group, k)};
  }
  std::size_t columns_for(const AnyWeights& weights) const {
    return block_columns == 0 ? std::max<std::size_t>(weights.shape().k, 1) : block_columns;
  }
  bool takes(const ModelItem& item, bool head) const {
    if (!item.is_plain() || !item.tensor || (item.role != Role::linear && !(head && item.role == Role::head)))
      return false;
    return std::none_of(ignored.begin(), ignored.end(),
                        [&](const edgeq::ModulePattern& pattern) { return pattern.matches(item.name); });
  }
  /// What a linear will be, as far as forms must know.
  LinearDescription description_of(const ModelItem& item) const;
};

Result<Scheme> Scheme::of(const QuantizeOptions& o) {
  Scheme scheme;
  scheme.is_float8 = o.format == "fp8";
  scheme.bits = o.format == "int4" ? 4 : 8;
  scheme.has_zeros = !o.symmetric;
  if (o.group != "channel" && (scheme.group = number(o.group)) == 0)
    return invalid("--group is \"" + o.group + "\"; it is a number, or \"channel\"");
  if (scheme.is_float8 && (o.method == "gptq" || o.search || !o.symmetric))
    return invalid("--format fp8 has no gptq, no search and no zero points");
  if (!o.block.empty()) {
    const std::size_t x = std::min(o.block.find('x'), o.block.size());
    scheme.block_rows = number(std::string_view(o.block).substr(0, x));
    scheme.block_columns = number(std::string_view(o.block).substr(std::min(x + 1, o.block.size())));
    if (!scheme.is_float8 || scheme.block_rows == 0 || scheme.block_columns == 0)
      return invalid("--block is \"" + o.block + "\"; it is two numbers such as 128x128, for --format fp8");
  }
  if ((o.method == "gptq") == o.calibration.empty())
    return invalid("--method gptq and --calibration need each other");
  if (o.act_order != "none" && o.method != "gptq") return invalid("--act-order is for --method gptq");
  if (o.scales != "as-stored")
    scheme.scale = o.scales == "f16" ? FloatType::f16 : o.scales == "bf16" ? FloatType::bf16 : FloatType::f32;
  if (o.search) scheme.search = edgeq::quantize::Search::squared_error;
  for (const std::string& text : o.ignore) {
    if (!text.starts_with("re:")) {
      scheme.ignored.push_back(edgeq::ModulePattern::exactly(text));
      continue;
    }
    auto pattern = edgeq::ModulePattern::regex(std::string_view(text).substr(3));
    if (!pattern) return pattern.error();
    scheme.ignored.push_back(*std::move(pattern));
  }
  return scheme;
}

LinearDescription Scheme::description_of(const ModelItem& item) const {
  const edgeq::WeightShape shape = item.weights->shape();
  LinearDescription linear{item.name, "", {}, shape.n, shape.k, shape.k, shape.k};
  if (is_float8) {
    linear.parts = {.kind = Parts::Kind::float8, .type = edgeq::ElementType::f8_e4m3, .bits = 8};
    linear.parts.block_rows = block_rows;
    linear.group = columns_for(*item.weights);
    linear.format = "fp8";
  } else {
    linear.parts = {.kind = Parts::Kind::integers, .bits = bits, .has_zeros = has_zeros};
    linear.group = codes_for(*item.weights).group;
    linear.format = "integers of " + std::to_string(bits) + " bits";
  }
  return linear;
}

/// A tied head as a linear of its own, whose weights are the embedding's.
Status untie(ModelFile& model) {
  const ModelItem* embedding = model.tied_embedding();
  if (embedding == nullptr) return edgeq::success();
  ModelItem head = *embedding;
  head.name = model.head_name();
  head.role = Role::head;
  head.bias.reset();
  if (!model.config.empty()) {
    auto config = nlohmann::ordered_json::parse(model.config, nullptr, false);
    if (!config.is_object()) return Error{ErrorCode::invalid_file, "config.json is not an object"};
    const auto text_config = config.find("text_config");
    if (text_config != config.end() && text_config->is_object() &&
        text_config->contains("tie_word_embeddings"))
      (*text_config)["tie_word_embeddings"] = false;
    config["tie_word_embeddings"] = false;
    model.config = config.dump(2);
  }
  model.is_tied = false;
  model.items.push_back(std::move(head));
  model.sort_items();
  return edgeq::success();
}

/// Quantizes every item that the scheme takes; the spool outlives the model that is returned with it.
Result<ModelFile> quantize_items(const ModelFile& model, const QuantizeOptions& options, const Scheme& scheme,
                                 Spool spool, const edgeq::ThreadPool& threads) {
  std::optional<Calibration> calibration;
  if (!options.calibration.empty()) {
    auto opened = Calibration::open(options.calibration);
    if (!opened) return opened.error();
    calibration = *std::move(opened);
  }
  const bool is_static =
      options.act_order == "static" || (options.act_order == "auto" && options.form == "compressed-tensors");
  const GptqOptions gptq_options{options.damping, options.act_order != "none", scheme.search, is_static};
  std::vector<std::pair<std::size_t, SpooledWeights>> spooled;
  Progress progress("quantizing");
  for (std::size_t i = 0; i < model.items.size(); ++i) {
    progress.show(i, model.items.size());
    const ModelItem& item = model.items[i];
    if (!scheme.takes(item, options.head)) continue;
    const AnyWeights& weights = *item.weights;
    const auto quantized = [&]() -> Result<SpooledWeights> {
      if (scheme.is_float8)
        return round_to_float8(weights, scheme.block_rows, scheme.columns_for(weights), spool, threads);
      if (!calibration)
        return round_to_nearest(weights, scheme.codes_for(weights), scheme.search, spool, threads);
      const auto hessian = calibration->hessian_of(item.name, weights.shape().k, threads);
      if (!hessian) return hessian.error();
      return gptq(weights, scheme.codes_for(weights), *hessian, gptq_options, spool, threads);
    }();
    if (!quantized) return Error{quantized.error().code, item.name + ": " + quantized.error().message};
    spooled.emplace_back(i, *quantized);
    model.release_pages();
  }
  auto mapped = spool.finish();
  if (!mapped) return mapped.error();
  ModelFile result = model;
  const auto owner = std::make_shared<std::pair<edgeq::MappedFile, std::shared_ptr<const void>>>(
      *std::move(mapped), model.owner);
  result.owner = owner;
  result.mapped.push_back(owner->first.bytes());
  for (const auto& [i, make] : spooled) {
    result.items[i].weights = make(owner->first.bytes());
    result.items[i].tensor.reset();
  }
  return result;
}

}

Status quantize(const QuantizeOptions& options) {
  const auto scheme = Scheme::of(options);
  if (!scheme) return scheme.error();
  auto model = ModelFile::open(options.in);
  if (!model) return model.error();
  if (model->kind == ModelFile::Kind::packed)
    return invalid("\"" + options.in + "\" is packed already; quantize what it was made of");
  if (options.head)
    if (Status status = untie(*model); !status) return status;
  std::vector<LinearDescription> linears;
  for (const ModelItem& item : model->items)
    if (scheme->takes(item, options.head)) linears.push_back(scheme->description_of(item));
  if (linears.empty()) return invalid("\"" + options.in + "\" has no linear of plain floats to quantize");
  const auto form = form_named(options.form);
  if (form) {
    if (auto context = FormContext::of(*form, linears); !context) return context.error();
    if (Status status = check_checkpoint(*model, options.out); !status) return status;
  }
  auto spool =
      Spool::create((std::filesystem::path(options.out) / "").parent_path().string() + ".codes.part");
  if (!spool) return spool.error();
  const edgeq::ThreadPool threads(options.common.thread_count());
  const auto result = quantize_items(*model, options, *scheme, *std::move(spool), threads);
  if (!result) return result.error();
  if (form) {
    const auto summary = write_checkpoint(*result, *form, options.out, threads);
    if (!summary) return summary.error();
    print_summary(options.out, *summary, options.common.json);
    return edgeq::success();
  }
  const auto summary = write_packed(*result, options.out, {options.pack}, threads);
  if (!summary) return summary.error();
  print_summary(options.out, *summary, options.common.json);
  return edgeq::success();
}

}
