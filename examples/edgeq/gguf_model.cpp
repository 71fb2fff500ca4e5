// SPDX-License-Identifier: Apache-2.0
// GGUF files as model files: every matrix is a linear of its block type.
#include <map>

#include "edgeq/import/gguf_weights.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "model_file.hpp"
#include "weights_of_source.hpp"

namespace tool {

namespace gguf = edgeq::gguf;
using edgeq::CheckpointTensor;
using edgeq::ElementType;
using edgeq::Result;

namespace {

struct OpenGguf {
  edgeq::MappedFile mapping;
  gguf::File file;
};

/// The element type of tensors that are no blocks.
std::optional<ElementType> element_type_of(gguf::TensorType type) {
  using enum gguf::TensorType;
  switch (type) {
    case f32:
      return ElementType::f32;
    case f16:
      return ElementType::f16;
    case bf16:
      return ElementType::bf16;
    case f64:
      return ElementType::f64;
    case i8:
      return ElementType::i8;
    case i16:
      return ElementType::i16;
    case i32:
      return ElementType::i32;
    case i64:
      return ElementType::i64;
    default:
      return std::nullopt;
  }
}

std::vector<std::size_t> shape_of(const gguf::Tensor& tensor) {
  std::vector<std::size_t> shape;
  for (std::uint32_t i = tensor.rank; i > 0; --i)
    shape.push_back(static_cast<std::size_t>(tensor.dims[i - 1]));
  return shape;
}

std::optional<CheckpointTensor> plain_tensor(const gguf::Tensor& tensor) {
  const auto type = element_type_of(tensor.type);
  if (!type) return std::nullopt;
  return CheckpointTensor{tensor.name, *type, shape_of(tensor), tensor.data};
}

}

Result<ModelFile> open_gguf(const std::string& path) {
  auto mapping = edgeq::MappedFile::open(path);
  if (!mapping) return mapping.error();
  auto parsed = gguf::File::parse(mapping->bytes());
  if (!parsed) return parsed.error();
  auto opened = std::make_shared<OpenGguf>(OpenGguf{*std::move(mapping), *std::move(parsed)});
  const gguf::File& file = opened->file;
  ModelFile model;
  model.kind = ModelFile::Kind::gguf;
  model.owner = opened;
  model.mapped = {opened->mapping.bytes()};
  model.folder = std::filesystem::path(path).parent_path();

  constexpr std::string_view weight = ".weight", bias = ".bias";
  std::map<std::string_view, std::size_t> types;
  bool has_head = false, has_embedding = false;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::string_view name = tensor.name;
    const bool is_matrix = tensor.rank == 2 && name.ends_with(weight);
    if (name.ends_with(bias)) {
      const gguf::Tensor* of =
          file.tensor(std::string(name.substr(0, name.size() - bias.size())) + std::string(weight));
      if (of != nullptr && of->rank == 2) continue;  // it goes with its linear
    }
    const gguf::TypeInfo* type = gguf::type_info(tensor.type);
    ModelItem item{.name = std::string(name),
                   .stored = std::string(type->name),
                   .shape = shape_of(tensor),
                   .stored_bytes = tensor.data.size(),
                   .tensor = plain_tensor(tensor)};
    if (is_matrix) {
      item.name.resize(name.size() - weight.size());
      item.role = role_of_matrix(item.name);
      has_head |= item.role == Role::head;
      has_embedding |= item.role == Role::embedding;
      ++types[type->name];
      auto weights = gguf::visit_weights(tensor, any_weights);
      if (weights)
        item.weights = *std::move(weights);
      else
        item.refusal = weights.error().message;
      if (const gguf::Tensor* b = file.tensor(item.name + std::string(bias))) {
        item.bias = plain_tensor(*b);
        if (!item.bias) item.refusal = "gguf: the bias of " + item.name + " is in blocks";
      }
    } else if (!item.tensor) {
      item.refusal = "gguf: tensor " + item.name + " of rank " + std::to_string(tensor.rank) +
                     " is in blocks of " + item.stored + "; only matrices are packed";
    }
    model.items.push_back(std::move(item));
  }
  for (const auto& [type, count] : types)
    model.method += (model.method.empty() ? "" : ", ") + std::string(type) + " x " + std::to_string(count);
  model.is_tied = !has_head && has_embedding;
  return model;
}

}
