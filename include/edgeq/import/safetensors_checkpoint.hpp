// SPDX-License-Identifier: Apache-2.0
// A checkpoint in safetensors files: one file, or the shards that an index names. Needs nlohmann::json: link
// edgeq::checkpoint.
#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/json.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "edgeq/import/safetensors.hpp"
#include "edgeq/import/tensor.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::safetensors {

/// All tensors of a model, in files that it maps and owns. It can be moved; views and pointers then stay
/// valid.
class Checkpoint {
 public:
  /// Opens a .safetensors file, an index (a path that ends with ".json"), or a folder.
  ///
  /// A folder has `model.safetensors`, else `model.safetensors.index.json`, else exactly one index (a name
  /// that ends with ".safetensors.index.json"), else exactly one .safetensors file. An index is
  /// {"weight_map": {"tensor": "file", ...}}; its files lie beside it, and each tensor is taken from the file
  /// that the map names and from no other, whatever else the files hold.
  ///
  /// invalid_file: a file breaks a rule of its format, a file name is not a plain name (it is empty, "." or
  /// "..", or has a slash, a backslash, a colon or a control character), or a tensor of the map is not in its
  /// file. io: a file is missing, or the folder has none or several.
  static Result<Checkpoint> open(const std::string& path);

  /// A tensor by its name, in O(log n); nullptr if there is none.
  const CheckpointTensor* tensor(std::string_view name) const noexcept { return table_.find(name); }
  /// The tensors, file by file in the order of their names, in the order of their data.
  std::span<const CheckpointTensor> tensors() const noexcept { return table_.tensors(); }
  /// The files, in the order of their names.
  std::span<const File> files() const noexcept { return files_; }

 private:
  // A tensor of an index and the file that has it, both views of the index.
  struct Place {
    std::string_view file;
    std::string_view tensor;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  Checkpoint() = default;

  static Result<std::filesystem::path> find_in(const std::filesystem::path& folder);
  static bool is_plain(std::string_view file);
  Status open_index(const std::filesystem::path& path);
  Status open_shard(const std::filesystem::path& folder, std::span<const Place> places);
  Result<const File*> open_file(const std::string& path);

  std::vector<MappedFile> mappings_;
  std::vector<File> files_;
  std::vector<CheckpointTensor> tensors_;  // collected while opening
  detail::TensorTable table_;
};

inline Result<Checkpoint> Checkpoint::open(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    auto found = find_in(file);
    if (!found) return found.error();
    file = *std::move(found);
  }
  Checkpoint checkpoint;
  if (file.extension() == ".json") {
    if (auto status = checkpoint.open_index(file); !status) return status.error();
  } else {
    const auto opened = checkpoint.open_file(file.string());
    if (!opened) return opened.error();
    const auto tensors = (*opened)->tensors();
    checkpoint.tensors_.assign(tensors.begin(), tensors.end());
  }
  checkpoint.table_ = detail::TensorTable(std::move(checkpoint.tensors_));
  return checkpoint;
}

inline Result<std::filesystem::path> Checkpoint::find_in(const std::filesystem::path& folder) {
  constexpr std::string_view file_ending = ".safetensors", index_ending = ".safetensors.index.json";
  std::vector<std::string> files, indices;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(file_ending)) files.push_back(name);
    if (name.ends_with(index_ending)) indices.push_back(name);
  }
  if (error) {
    return Error{ErrorCode::io, "cannot list folder " + in_quotes(folder.string()) + ": " + error.message()};
  }
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(files, "model.safetensors")) return folder / "model.safetensors";
  if (has(indices, "model.safetensors.index.json")) return folder / "model.safetensors.index.json";
  if (indices.size() == 1) return folder / indices[0];
  if (indices.empty() && files.size() == 1) return folder / files[0];
  return Error{ErrorCode::io, "folder " + in_quotes(folder.string()) + " has " +
                                  std::to_string(files.size()) + " .safetensors files and " +
                                  std::to_string(indices.size()) + " indices: name the one to open"};
}

inline bool Checkpoint::is_plain(std::string_view file) {
  const auto is_forbidden = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '/' || c == '\\' || c == ':';
  };
  return !file.empty() && file != "." && file != ".." && std::none_of(file.begin(), file.end(), is_forbidden);
}

inline Status Checkpoint::open_index(const std::filesystem::path& path) {
  const auto invalid = [&](const std::string& found_and_rule) {
    return Error{ErrorCode::invalid_file,
                 "index " + in_quotes(path.filename().string()) + ": " + found_and_rule};
  };
  const auto mapping = MappedFile::open(path.string());
  if (!mapping) return mapping.error();
  const std::string_view text(reinterpret_cast<const char*>(mapping->bytes().data()),
                              mapping->bytes().size());
  const auto document = json::Document::parse(text, "index " + in_quotes(path.filename().string()));
  if (!document) return document.error();
  const auto map = document->root().find("weight_map");
  if (!map || !map->is_object()) return invalid("weight_map must be an object");

  std::vector<Place> places;
  for (const auto& [tensor, file] : map->members()) {
    const auto name = file.as_string();
    if (!name) return invalid("the file of tensor " + in_quotes(tensor) + " must be a string");
    if (!is_plain(*name)) {
      return invalid("tensor " + in_quotes(tensor) + " lies in " + in_quotes(*name) +
                     ", which is not the plain name of a file");
    }
    places.push_back({*name, tensor});
  }
  std::sort(places.begin(), places.end());
  for (auto first = places.begin(); first != places.end();) {
    const auto last =
        std::find_if(first, places.end(), [&](const Place& place) { return place.file != first->file; });
    if (auto status = open_shard(path.parent_path(), {first, last}); !status) return status;
    first = last;
  }
  return success();
}

// Takes from a file the tensors of these places, which all name it.
inline Status Checkpoint::open_shard(const std::filesystem::path& folder, std::span<const Place> places) {
  const std::string_view name = places.front().file;
  const auto file = open_file((folder / name).string());
  if (!file) return file.error();
  for (const Place& place : places) {
    if ((*file)->tensor(place.tensor) == nullptr) {
      return Error{ErrorCode::invalid_file, "the index says that tensor " + in_quotes(place.tensor) +
                                                " lies in " + in_quotes(name) + ", which does not have it"};
    }
  }
  for (const CheckpointTensor& tensor : (*file)->tensors()) {
    if (std::binary_search(places.begin(), places.end(), Place{name, tensor.name}))
      tensors_.push_back(tensor);
  }
  return success();
}

// The pointer is valid until the next file is opened.
inline Result<const File*> Checkpoint::open_file(const std::string& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return mapping.error();
  auto file = File::parse(mapping->bytes());
  if (!file) {
    return Error{file.error().code,
                 in_quotes(std::filesystem::path(path).filename().string()) + ": " + file.error().message};
  }
  mappings_.push_back(*std::move(mapping));
  files_.push_back(*std::move(file));
  return &files_.back();
}

}
