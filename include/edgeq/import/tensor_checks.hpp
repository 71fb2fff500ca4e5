// SPDX-License-Identifier: Apache-2.0
// Checks that importers of weight layouts share: a tensor's type, shape and bytes, refused in words that name
// what was found and what the layout needs.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "edgeq/import/tensor.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The shape of a tensor, outermost first.
using TensorShape = std::vector<std::size_t>;

/// The types that a tensor may have.
using ElementTypes = std::initializer_list<ElementType>;

/// For example "[64, 3]".
inline std::string to_string(const TensorShape& shape) {
  std::string text = "[";
  for (const std::size_t extent : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  return text + "]";
}

/// For example "I32 [64, 3]".
inline std::string describe(const CheckpointTensor& tensor) {
  return std::string(element_info(tensor.type).name) + " " + to_string(tensor.shape);
}

/// One layout and one of its linears, for checks and their messages.
class TensorChecks {
 public:
  /// `layout` begins every message, for example "gptq".
  explicit TensorChecks(std::string layout) : layout_(std::move(layout)) {}

  /// Says in later messages which linear it is, for example "K = 32, N = 64, 3 bits".
  void set_sizes(std::string sizes) { sizes_ = std::move(sizes); }

  Error error(ErrorCode code, std::string_view tensor, const std::string& what) const {
    return Error{code, layout_ + ": tensor " + std::string(tensor) + " " + what};
  }

  /// Refuses a tensor that is of none of the types, or does not have as many dimensions.
  Status type_and_rank(const CheckpointTensor& tensor, ElementTypes types, std::size_t rank) const {
    if (Status status = type(tensor, types); !status) return status;
    if (tensor.shape.size() == rank) return bytes(tensor);
    return error(ErrorCode::invalid_file, tensor.name,
                 "is " + describe(tensor) + "; it needs " + std::to_string(rank) + " dimensions");
  }

  /// Refuses a tensor that is of none of the types, or has none of the shapes.
  Status type_and_shape(const CheckpointTensor& tensor, ElementTypes types,
                        std::initializer_list<TensorShape> shapes) const {
    if (Status status = type(tensor, types); !status) return status;
    if (std::find(shapes.begin(), shapes.end(), tensor.shape) != shapes.end()) return bytes(tensor);
    std::string needed;
    for (const TensorShape& shape : shapes) needed += (needed.empty() ? "" : " or ") + to_string(shape);
    return error(
        ErrorCode::invalid_file, tensor.name,
        "is " + describe(tensor) + "; " + (sizes_.empty() ? "it needs " : sizes_ + " need ") + needed);
  }

  /// Refuses a tensor that is of none of the types, whatever its shape.
  Status type(const CheckpointTensor& tensor, ElementTypes types) const {
    if (std::find(types.begin(), types.end(), tensor.type) != types.end()) return success();
    std::string needed;
    for (const ElementType t : types)
      needed += (needed.empty() ? "" : " or ") + std::string(element_info(t).name);
    return error(ErrorCode::unsupported, tensor.name, "is " + describe(tensor) + "; it must be " + needed);
  }

  /// Refuses a tensor whose bytes are not those of its shape.
  Status bytes(const CheckpointTensor& tensor) const {
    const std::size_t element = element_info(tensor.type).bits / 8;
    std::size_t size = element;
    bool fits = element != 0;
    const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    for (const std::size_t extent : tensor.shape) {
      if (empty) break;
      fits = fits && size <= SIZE_MAX / extent;
      size *= extent;
    }
    if (empty) size = 0;
    if (fits && size == tensor.data.size()) return success();
    return error(ErrorCode::invalid_file, tensor.name,
                 "is " + describe(tensor) + " but has " + std::to_string(tensor.data.size()) + " bytes");
  }

 private:
  std::string layout_;
  std::string sizes_;
};

}
