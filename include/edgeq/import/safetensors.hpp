// SPDX-License-Identifier: Apache-2.0
// Reads the safetensors container: the tensors and the metadata of a file's bytes, without copying the data
// and without trusting one of them. Needs nlohmann::json: link edgeq::checkpoint.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/tensor.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::safetensors {

/// A key of the header's `__metadata__` and its value.
struct MetadataEntry {
  std::string_view key;
  std::string_view value;
};

namespace detail {

// Tensors in an order of their own, found by name in O(log n).
class TensorTable {
 public:
  TensorTable() = default;
  // The names must differ.
  explicit TensorTable(std::vector<CheckpointTensor> tensors)
      : tensors_(std::move(tensors)), by_name_(tensors_.size()) {
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::sort(by_name_.begin(), by_name_.end(),
              [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
  }

  std::span<const CheckpointTensor> tensors() const noexcept { return tensors_; }
  const CheckpointTensor* find(std::string_view name) const noexcept {
    const auto before = [&](std::size_t i, std::string_view wanted) { return tensors_[i].name < wanted; };
    const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name, before);
    return found != by_name_.end() && tensors_[*found].name == name ? &tensors_[*found] : nullptr;
  }

 private:
  std::vector<CheckpointTensor> tensors_;
  std::vector<std::size_t> by_name_;
};

// What the header says, checked; the tensors have no data yet.
struct Header {
  std::vector<char> characters;  // of all names and metadata
  std::vector<MetadataEntry> metadata;
  std::vector<CheckpointTensor> tensors;  // in the order of their data
  std::vector<std::size_t> ends;          // where the data of each ends, from the data's start
};

}

/// A parsed safetensors file. It views the bytes that were parsed: the caller keeps them, unchanged, for as
/// long as he uses the File or anything that it returned. It can be moved; views and pointers then stay
/// valid.
class File {
 public:
  /// Checks everything but the contents of the tensors, in memory of at most 16 times the header.
  ///
  /// The file is a u64 n, n bytes of JSON, and the data of the tensors:
  ///   {"__metadata__": {"key": "text"}, "name": {"dtype": "F16", "shape": [N, K], "data_offsets": [b, e]}}
  /// where the offsets count from byte 8 + n. The rules are those of the format and of its Rust crate, the
  /// stricter of the two: the header begins with '{' and ends with '}' and spaces, no key stands twice, shape
  /// and offsets are non-negative integers, and the data is covered from its first byte to the file's last
  /// one without gap, overlap or rest, each tensor with exactly the bytes of its shape and type. Data may lie
  /// at any address: see CheckpointTensor::at. Unknown keys of a tensor are ignored.
  ///
  /// invalid_file: the bytes break a rule. unsupported: an unknown dtype. too_large: a header of more than
  /// 10^8 bytes, nesting deeper than 64, or a product of extents other than 0 that no size_t holds in bits.
  static Result<File> parse(std::span<const std::byte> bytes);

  /// A tensor by its name, in O(log n); nullptr if there is none.
  const CheckpointTensor* tensor(std::string_view name) const noexcept { return table_.find(name); }
  /// The tensors in the order of their data.
  std::span<const CheckpointTensor> tensors() const noexcept { return table_.tensors(); }
  /// The header's `__metadata__`, in the order of the header.
  std::span<const MetadataEntry> metadata() const noexcept { return metadata_; }

 private:
  File() = default;

  std::vector<char> characters_;
  std::vector<MetadataEntry> metadata_;
  detail::TensorTable table_;
};

}

#include "edgeq/import/safetensors_header.hpp"
