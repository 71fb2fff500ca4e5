// SPDX-License-Identifier: Apache-2.0
// Small model files of every kind, for tests of the tool.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "edgeq/import/safetensors_writer.hpp"
#include "edgeq/model_file.hpp"
#include "import/gguf_writer.hpp"
#include "import/integer_linear.hpp"
#include "import/temporary_folder.hpp"

namespace edgeq::test {

/// Floats between -1 and 1.
inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<std::int32_t>(engine())) * 0x1p-31f;
  return values;
}

/// A checkpoint to be: tensors by name, and a config.
class CheckpointBuilder {
 public:
  /// Adds a tensor under another name.
  void add(const std::string& name, CheckpointTensor tensor) {
    names_.push_back(name);
    tensors_.push_back(std::move(tensor));
  }
  /// Floats of a type under a name.
  void floats(const std::string& name, ElementType type, std::vector<std::size_t> shape,
              const std::vector<float>& values) {
    add(name, store.floats("", type, std::move(shape), values));
  }
  /// A layer's tensors as the importers' structs have them; their names begin with "layer".
  void add(const std::string& module, std::initializer_list<std::optional<CheckpointTensor>> parts) {
    for (const auto& part : parts)
      if (part) add(module + std::string(part->name.substr(part->name.find('.'))), *part);
  }
  void add(const std::string& module, const gptq::Tensors& t) {
    add(module, {t.qweight, t.qzeros, t.scales, t.g_idx});
  }
  void add(const std::string& module, const awq::Tensors& t) { add(module, {t.qweight, t.qzeros, t.scales}); }
  void add(const std::string& module, const compressed_tensors::Tensors& t) {
    add(module, {t.weight, t.weight_scale, t.weight_shape, t.weight_zero_point, t.weight_g_idx});
  }

  /// Writes model.safetensors and config.json into a new folder inside; returns its path.
  std::string write(const TemporaryFolder& parent, const std::string& folder) const {
    const std::string path = parent.path(folder);
    std::filesystem::create_directory(path);
    std::vector<safetensors::TensorDeclaration> declarations;
    for (std::size_t i = 0; i < names_.size(); ++i)
      declarations.push_back({names_[i], tensors_[i].type, tensors_[i].shape});
    auto writer = safetensors::Writer::create(path + "/model.safetensors", declarations);
    EXPECT_TRUE(writer) << writer.error().message;
    const std::vector<safetensors::TensorDeclaration> in_order(writer->tensors().begin(),
                                                               writer->tensors().end());
    for (const auto& declaration : in_order) {
      const auto at = std::find(names_.begin(), names_.end(), declaration.name) - names_.begin();
      EXPECT_TRUE(writer->append(declaration.name, tensors_[static_cast<std::size_t>(at)].data));
    }
    EXPECT_TRUE(writer->finish());
    parent.write(folder + "/config.json", config.dump());
    return path;
  }

  TensorStore store;
  nlohmann::json config = nlohmann::json::object();

 private:
  std::vector<std::string> names_;
  std::vector<CheckpointTensor> tensors_;
};

/// The weights of a module as floats, [N, K]. Fails the test if the module is not there.
inline std::vector<float> weights_of(const std::string& path, const std::string& module) {
  const auto model = tool::ModelFile::open(path);
  EXPECT_TRUE(model) << model.error().message;
  const tool::ModelItem* item = model ? model->find(module) : nullptr;
  if (item == nullptr || item->weights == nullptr) {
    ADD_FAILURE() << path << " has no weights of " << module << (item ? ": " + item->refusal : "");
    return {};
  }
  const WeightShape shape = item->weights->shape();
  std::vector<float> values(shape.n * shape.k);
  item->weights->read(0, shape.n, values.data());
  return values;
}

/// Floats of bf16, so that a bf16 checkpoint holds them exactly.
inline std::vector<float> bf16_floats(std::size_t count, unsigned seed) {
  auto values = random_floats(count, seed);
  for (float& value : values) value = BFloat16::from_float(value).to_float();
  return values;
}

/// A decoder of one layer in bf16, with a tied head: embedding [40, 64], two linears, one with a bias, a
/// norm.
inline CheckpointBuilder plain_checkpoint() {
  CheckpointBuilder builder;
  builder.config = {{"architectures", {"TestForCausalLM"}}, {"tie_word_embeddings", true}};
  builder.floats("model.embed_tokens.weight", ElementType::bf16, {40, 64}, bf16_floats(40 * 64, 1));
  builder.floats("model.layers.0.up_proj.weight", ElementType::bf16, {136, 64}, bf16_floats(136 * 64, 2));
  builder.floats("model.layers.0.up_proj.bias", ElementType::bf16, {136}, bf16_floats(136, 3));
  builder.floats("model.layers.0.down_proj.weight", ElementType::bf16, {64, 136}, bf16_floats(64 * 136, 4));
  builder.floats("model.norm.weight", ElementType::bf16, {64}, bf16_floats(64, 5));
  return builder;
}

/// Calls check(name, path) with a model file of each kind that holds `model.layers.0.proj` exactly.
template <class Check>
void for_each_model(const TemporaryFolder& folder, const Check& check) {
  const std::string module = "model.layers.0.proj";
  const auto gptq_config = [](const IntegerLinear& w, bool second) {
    return nlohmann::json{{"quantization_config",
                           {{"quant_method", "gptq"},
                            {"bits", w.bits},
                            {"group_size", w.group},
                            {"sym", w.symmetric},
                            {"desc_act", !w.group_of.empty()},
                            {"checkpoint_format", second ? "gptq_v2" : "gptq"}}}};
  };
  for (const int bits : {2, 3, 4, 8})
    for (const bool symmetric : {false, true})
      for (const bool second : {false, true})
        for (const bool ordered : {false, true}) {
          auto w = IntegerLinear::random(64, 96, 32, bits, symmetric);
          for (std::size_t k = 0; ordered && k < w.k; ++k)
            w.group_of.push_back(static_cast<std::int32_t>((k * 7) % 3));
          CheckpointBuilder builder;
          builder.config = gptq_config(w, second);
          builder.add(module, write_gptq(builder.store, w, second));
          builder.floats(module + ".bias", ElementType::f16, {w.n}, random_floats(w.n, 6));
          const std::string name = std::string("gptq") + (second ? "_v2_" : "_") + std::to_string(bits) +
                                   (symmetric ? "" : "_zeros") + (ordered ? "_ordered" : "");
          check(name, builder.write(folder, name));
        }
  for (const bool symmetric : {false, true}) {
    const auto w = IntegerLinear::random(64, 96, 32, 4, symmetric);
    CheckpointBuilder awq, compressed;
    awq.config = {{"quantization_config", {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}}}};
    awq.add(module, write_awq(awq.store, w));
    const std::string zeros = symmetric ? "" : "_zeros";
    check("awq" + zeros, awq.write(folder, "awq" + zeros));
    compressed.config = {{"quantization_config",
                          {{"quant_method", "compressed-tensors"},
                           {"format", "pack-quantized"},
                           {"config_groups",
                            {{"group_0",
                              {{"targets", {"Linear"}},
                               {"weights",
                                {{"num_bits", 4},
                                 {"type", "int"},
                                 {"symmetric", symmetric},
                                 {"strategy", "group"},
                                 {"group_size", 32}}}}}}}}}};
    compressed.add(module, write_compressed_tensors(compressed.store, w, true));
    check("compressed" + zeros, compressed.write(folder, "compressed" + zeros));
  }
  for (const bool is_block : {false, true}) {
    constexpr std::size_t n = 130, k = 70;
    std::vector<std::uint8_t> codes(n * k);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 37 % 120);
    CheckpointBuilder builder;
    builder.config = {{"quantization_config", {{"quant_method", "fp8"}, {"fmt", "e4m3"}}}};
    if (is_block) builder.config["quantization_config"]["weight_block_size"] = {64, 32};
    builder.add(module + ".weight", builder.store.bytes("", {n, k}, codes, ElementType::f8_e4m3));
    if (is_block)
      builder.floats(module + ".weight_scale_inv", ElementType::f32, {3, 3}, random_floats(9, 8));
    else
      builder.floats(module + ".weight_scale", ElementType::f32, {n, 1}, random_floats(n, 8));
    const std::string name = is_block ? "fp8_block" : "fp8_channel";
    check(name, builder.write(folder, name));
  }
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    CheckpointBuilder builder;
    builder.floats(module + ".weight", type, {33, 40}, random_floats(33 * 40, 9));
    const std::string name(element_info(type).name);
    check(name, builder.write(folder, name));
  }
  GgufWriter gguf;
  gguf.add_tensor(module + ".weight", gguf::TensorType::q4_1, {64, 33}, pattern(33 * 2 * 20));
  gguf.add_tensor("norm.weight", gguf::TensorType::f32, {4}, pattern(16));
  folder.write("file.gguf", gguf.bytes());
  check("gguf", folder.path("file.gguf"));
}

}
