// SPDX-License-Identifier: Apache-2.0
// A model file of any kind, behind one type: its linears, its other tensors, and how it was quantized.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/import/tensor.hpp"
#include "weights.hpp"

namespace tool {

/// What a tensor or a module is for, as its name and shape tell.
enum class Role {
  linear,
  head,       ///< the linear whose outputs are tokens
  embedding,  ///< a matrix of which rows are looked up
  other,      ///< norms and whatever else is no matrix
};

/// A module with weights, or another tensor of a model file.
struct ModelItem {
  std::string name = {};  ///< of modules, without ".weight"
  Role role = Role::other;
  std::string stored = {};  ///< how, for example "gptq 4 bits g128"
  std::vector<std::size_t> shape = {};
  std::size_t stored_bytes = 0;  ///< without the bias

  std::shared_ptr<const AnyWeights> weights = {};  ///< of a matrix that edgeq can hold, else null
  std::string refusal = {};                        ///< why not, where it should
  std::string remark = {};
  /// The tensor where it is one of plain elements: what is kept as it is.
  std::optional<edgeq::CheckpointTensor> tensor = {};
  std::optional<edgeq::CheckpointTensor> bias = {};

  bool is_matrix() const noexcept { return weights != nullptr || !refusal.empty(); }
  /// Whether it is a linear of plain floats, which a quantizer can take.
  bool is_plain() const { return weights != nullptr && weights->parts().kind == Parts::Kind::floats; }
  /// The bias as floats; empty without one. Refuses one that is not [N].
  edgeq::Result<std::vector<float>> read_bias() const;
};

/// An open model file. Views of it are valid for as long as `owner` lives.
struct ModelFile {
  enum class Kind { safetensors, gguf, packed };

  Kind kind = Kind::safetensors;
  std::string method;            ///< the quantization found, for people
  std::vector<ModelItem> items;  ///< in the order of their names, numbers by their value
  bool is_tied = false;          ///< the head has no weights of its own: it shares the embedding's
  std::string config;            ///< the text of config.json, or empty
  std::filesystem::path folder;  ///< of the weights
  std::shared_ptr<const void> owner;
  std::vector<std::span<const std::byte>> mapped;  ///< the parts of memory that are files

  /// Opens a file or folder of any kind, told apart by its first bytes.
  static edgeq::Result<ModelFile> open(const std::string& path);

  const ModelItem* find(std::string_view name) const noexcept;
  /// The embedding whose weights a tied head shares, or null.
  const ModelItem* tied_embedding() const noexcept;
  /// The name that a tied head would have.
  std::string head_name() const { return kind == Kind::gguf ? "output" : "lm_head"; }
  /// Tells the system that the pages read so far need not stay in memory.
  void release_pages() const;
  /// Puts the items in order.
  void sort_items();
};

/// The kinds, each in a translation unit of its own.
edgeq::Result<ModelFile> open_checkpoint(const std::string& path);
edgeq::Result<ModelFile> open_gguf(const std::string& path);
edgeq::Result<ModelFile> open_packed(const std::string& path);
/// Compares all of a packed file with its checksums.
edgeq::Status verify_checksums(const std::string& path);

/// What a matrix of this name is for.
Role role_of_matrix(std::string_view name);

/// For example "[4096, 11008]".
std::string shape_text(const std::vector<std::size_t>& shape);

}
