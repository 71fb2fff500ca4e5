// SPDX-License-Identifier: Apache-2.0
// The linears of a safetensors checkpoint, whatever quantized them: which modules there are, and each as the
// weight source that holds it exactly. Needs nlohmann::json: link edgeq::checkpoint.
#pragma once
#include <set>

#include "edgeq/import/awq.hpp"
#include "edgeq/import/compressed_tensors.hpp"
#include "edgeq/import/fp8.hpp"
#include "edgeq/import/gptq.hpp"
#include "edgeq/import/microscaling.hpp"
#include "edgeq/import/quantization_config.hpp"
#include "edgeq/import/safetensors_checkpoint.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// W [N, K] of plain floats: a tensor of two dimensions.
template <StoredFloat T>
struct FloatTensorSource : FloatBytes<T> {
  FloatTensorSource() = default;
  FloatTensorSource(const CheckpointTensor& tensor)
      : FloatBytes<T>{tensor.shape[0], tensor.shape[1], tensor.data} {}
};

/// One module of a checkpoint that has a matrix, such as "model.layers.0.mlp.down_proj".
class CheckpointLinear {
 public:
  /// Finds the tensors of a module, as its method of quantization names them; of modules that the config does
  /// not quantize, `weight`. Refuses a module without the tensors that its method needs.
  static Result<CheckpointLinear> find(const safetensors::Checkpoint& checkpoint,
                                       const QuantizationConfig& config, std::string_view module);

  /// The names of all modules with a matrix, in ascending order: linears, and embeddings, which look alike.
  static std::vector<std::string> modules(const safetensors::Checkpoint& checkpoint);

  const std::string& name() const noexcept { return name_; }
  /// How the config says that it is stored; nullptr for plain floats.
  const quantization::Weights* method() const noexcept { return method_ ? &*method_ : nullptr; }
  /// The module's bias, or nullptr.
  const CheckpointTensor* bias() const noexcept { return bias_; }

  /// Calls f(source) with the source type of the weights; its `Format` is the edgeq format that holds them
  /// exactly. Returns f's Result, or why an importer refused. `remark`, if given, receives what a caller
  /// should report, such as a label that was not believed.
  template <class F>
  auto visit(const F& f, std::string* remark = nullptr) const -> decltype(f(FloatTensorSource<float>{}));

 private:
  using Parts = std::vector<std::pair<std::string_view, const CheckpointTensor*>>;

  /// The tensor of a suffix; only after find has checked that it is there.
  const CheckpointTensor& part(std::string_view suffix) const noexcept {
    return *optional_part(suffix).value();
  }
  std::optional<const CheckpointTensor*> optional_part(std::string_view suffix) const noexcept {
    for (const auto& [name, tensor] : parts_)
      if (name == suffix) return tensor;
    return std::nullopt;
  }
  std::optional<CheckpointTensor> copy_of(std::string_view suffix) const {
    const auto found = optional_part(suffix);
    return found ? std::optional(**found) : std::nullopt;
  }

  /// As the importers take it: -1 for all of K.
  static constexpr std::int64_t stated_group(std::size_t size) noexcept {
    return size == 0 ? -1 : static_cast<std::int64_t>(size);
  }
  template <class F>
  auto visit(const quantization::Gptq& g, const F& f, std::string* remark) const;
  template <class F>
  auto visit(const quantization::CompressedTensors& c, const F& f) const;

  std::string name_;
  std::optional<quantization::Weights> method_;
  Parts parts_;
  const CheckpointTensor* bias_ = nullptr;
};

namespace detail {

/// The suffixes of a method's tensors, and how many of them, from the first on, must be there. A suffix
/// without a dot belongs to the module's own name.
struct PartNames {
  std::vector<std::string_view> names;
  std::size_t required = 0;
};

inline PartNames part_names(const quantization::Weights* method) {
  if (method == nullptr) return {{".weight"}, 1};
  return std::visit(
      []<class M>(const M& m) -> PartNames {
        if constexpr (std::same_as<M, quantization::Gptq>)
          return {{".qweight", ".qzeros", ".scales", ".g_idx"}, 3};
        else if constexpr (std::same_as<M, quantization::Awq>)
          return {{".qweight", ".qzeros", ".scales"}, 3};
        else if constexpr (std::same_as<M, quantization::Fp8>)
          return {{".weight", ".weight_scale_inv", ".weight_scale", ".scale"}, 1};
        else if constexpr (std::same_as<M, quantization::Mxfp4>)
          return {{"_blocks", "_scales"}, 2};
        else if constexpr (std::same_as<M, quantization::ModelOptNvfp4>)
          return {{".weight", ".weight_scale", ".weight_scale_2"}, 3};
        else if (m.format == quantization::CompressedTensors::Format::pack_quantized)
          return {{".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx"},
                  3};
        else if (m.format == quantization::CompressedTensors::Format::nvfp4_pack_quantized ||
                 m.format == quantization::CompressedTensors::Format::mxfp4_pack_quantized)
          return {{".weight_packed", ".weight_scale", ".weight_global_scale"}, 2};
        else
          return {{".weight", ".weight_scale", ".weight_zero_point"}, 2};
      },
      *method);
}

}

inline Result<CheckpointLinear> CheckpointLinear::find(const safetensors::Checkpoint& checkpoint,
                                                       const QuantizationConfig& config,
                                                       std::string_view module) {
  CheckpointLinear linear;
  linear.name_ = module;
  const auto collect = [&](const quantization::Weights* method) -> std::string {
    const detail::PartNames names = detail::part_names(method);
    linear.parts_.clear();
    for (std::size_t i = 0; i < names.names.size(); ++i) {
      const CheckpointTensor* tensor = checkpoint.tensor(linear.name_ + std::string(names.names[i]));
      if (tensor != nullptr) linear.parts_.emplace_back(names.names[i], tensor);
      if (tensor == nullptr && i < names.required) return linear.name_ + std::string(names.names[i]);
    }
    return "";
  };
  if (const quantization::Weights* method = config.find(module)) linear.method_ = *method;
  std::string missing = collect(linear.method());
  // Configs seldom list the modules that their method leaves alone: a `weight` of floats says so itself.
  if (const CheckpointTensor* plain = checkpoint.tensor(linear.name_ + ".weight");
      linear.method_ && plain != nullptr &&
      (plain->type == ElementType::f32 || plain->type == ElementType::f16 ||
       plain->type == ElementType::bf16)) {
    linear.method_.reset();
    missing = collect(nullptr);
  }
  if (!missing.empty())
    return Error{ErrorCode::invalid_file, "checkpoint: module " + linear.name_ + " has no tensor " + missing};
  linear.bias_ = checkpoint.tensor(linear.name_ + ".bias");
  return linear;
}

inline std::vector<std::string> CheckpointLinear::modules(const safetensors::Checkpoint& checkpoint) {
  constexpr std::string_view endings[] = {".qweight", ".weight_packed", ".weight", "_blocks"};
  std::set<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint.tensors())
    for (const std::string_view ending : endings)
      if (tensor.name.ends_with(ending) && tensor.shape.size() >= 2)
        names.emplace(tensor.name.substr(0, tensor.name.size() - ending.size()));
  return {names.begin(), names.end()};
}

template <class F>
auto CheckpointLinear::visit(const quantization::Gptq& g, const F& f, std::string* remark) const {
  gptq::Parameters parameters;
  parameters.bits = static_cast<int>(g.bits);
  parameters.group_size = stated_group(g.group_size);
  parameters.sym = g.sym;
  parameters.desc_act = g.desc_act;
  parameters.checkpoint_format =
      g.checkpoint_format == quantization::Gptq::CheckpointFormat::v2 ? "gptq_v2" : "gptq";
  gptq::ZeroDecision decision;
  auto weights = gptq::read_weights({part(".qweight"), part(".qzeros"), part(".scales"), copy_of(".g_idx")},
                                    parameters, &decision);
  if (remark != nullptr && weights && decision.contradicts_label()) *remark = decision.to_string();
  return visit_weights(std::move(weights), f);
}

template <class F>
auto CheckpointLinear::visit(const quantization::CompressedTensors& c, const F& f) const {
  using Stored = quantization::CompressedTensors;
  using Answer = decltype(f(FloatTensorSource<float>{}));
  if (c.format == Stored::Format::mxfp8_quantized)
    return Answer(Error{ErrorCode::unsupported,
                        "checkpoint: module " + name_ + " is mxfp8-quantized, which edgeq does not read"});
  if (c.format == Stored::Format::mxfp4_pack_quantized)
    return Answer(microscaling::visit_mxfp4({part(".weight_packed"), part(".weight_scale")}, f));
  if (c.format == Stored::Format::nvfp4_pack_quantized)
    return Answer(microscaling::visit_nvfp4(
        {part(".weight_packed"), part(".weight_scale"), copy_of(".weight_global_scale")},
        microscaling::TensorScale::divides, f));
  compressed_tensors::Parameters parameters;
  parameters.bits = static_cast<int>(c.bits);
  parameters.symmetric = c.symmetric;
  parameters.strategy = c.strategy == Stored::Strategy::tensor    ? compressed_tensors::Strategy::tensor
                        : c.strategy == Stored::Strategy::channel ? compressed_tensors::Strategy::channel
                        : c.strategy == Stored::Strategy::block   ? compressed_tensors::Strategy::block
                                                                  : compressed_tensors::Strategy::group;
  parameters.group_size = stated_group(c.group_size);
  if (c.strategy == Stored::Strategy::block) parameters.block = fp8::Block{c.block[0], c.block[1]};
  parameters.version = c.version;
  const bool is_packed = c.format == Stored::Format::pack_quantized;
  return Answer(compressed_tensors::visit_weights(
      {part(is_packed ? ".weight_packed" : ".weight"), part(".weight_scale"), copy_of(".weight_shape"),
       copy_of(".weight_zero_point"), copy_of(".weight_g_idx")},
      parameters, f));
}

template <class F>
auto CheckpointLinear::visit(const F& f, std::string* remark) const
    -> decltype(f(FloatTensorSource<float>{})) {
  using Answer = decltype(f(FloatTensorSource<float>{}));
  if (!method_) {
    const CheckpointTensor& weight = part(".weight");
    if (Status s = TensorChecks("floats").type_and_rank(weight, stored_floats, 2); !s) return s.error();
    if (weight.type == ElementType::f16) return f(FloatTensorSource<Float16>{weight});
    if (weight.type == ElementType::bf16) return f(FloatTensorSource<BFloat16>{weight});
    return f(FloatTensorSource<float>{weight});
  }
  return std::visit(
      [&]<class M>(const M& m) -> Answer {
        if constexpr (std::same_as<M, quantization::Gptq>) {
          return visit(m, f, remark);
        } else if constexpr (std::same_as<M, quantization::Awq>) {
          return awq::visit_weights({part(".qweight"), part(".qzeros"), part(".scales")},
                                    {.group_size = stated_group(m.group_size)}, f);
        } else if constexpr (std::same_as<M, quantization::Fp8>) {
          fp8::Parameters parameters;
          if (m.block) parameters.block = fp8::Block{(*m.block)[0], (*m.block)[1]};
          for (const std::string_view scale : {".weight_scale_inv", ".weight_scale", ".scale"})
            if (optional_part(scale))
              return fp8::visit_weights({part(".weight"), part(scale)}, parameters, f);
          return Error{ErrorCode::invalid_file, "checkpoint: module " + name_ + " has no tensor " + name_ +
                                                    ".weight_scale_inv or " + name_ + ".weight_scale"};
        } else if constexpr (std::same_as<M, quantization::Mxfp4>) {
          return microscaling::visit_mxfp4({part("_blocks"), part("_scales")}, f);
        } else if constexpr (std::same_as<M, quantization::ModelOptNvfp4>) {
          return microscaling::visit_nvfp4({part(".weight"), part(".weight_scale"), part(".weight_scale_2")},
                                           microscaling::TensorScale::multiplies, f);
        } else {
          return visit(m, f);
        }
      },
      *method_);
}

}
