// SPDX-License-Identifier: Apache-2.0
// Takes tensors out of a GGUF file by name, checks their shapes, and knows which ones nobody asked for.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generate/model.hpp"

namespace generate {

/// A matrix of a projection: tensor `name`.weight [rows, K], and `name`.bias [rows] if the file has it.
struct MatrixName {
  std::string name;
  std::size_t rows;
};

/// All functions throw std::runtime_error that names the tensor, what was found and what was expected.
class TensorReader {
 public:
  TensorReader(const edgeq::gguf::File& file, const edgeq::ThreadPool& pool, std::size_t projections,
               PackProgress progress)
      : file_(&file), pool_(&pool), total_(projections), progress_(std::move(progress)) {}

  bool has(std::string_view name) const { return file_->tensor(name) != nullptr; }
  /// The rows of a matrix that must be there.
  std::size_t rows(const std::string& name) const;
  /// A tensor of `size` elements, as floats.
  std::vector<float> vector(const std::string& name, std::size_t size);
  /// Matrices with `columns` columns; runs of one type become one layer.
  Projection projection(const std::vector<MatrixName>& matrices, std::size_t columns);
  /// Refuses the first tensor of the file that has not been read: it would change the result.
  void refuse_unread() const;

 private:
  const edgeq::gguf::Tensor& take(const std::string& name, std::size_t rows, std::size_t columns);
  std::vector<float> bias(const std::vector<MatrixName>& matrices, std::size_t begin, std::size_t end);

  const edgeq::gguf::File* file_;
  const edgeq::ThreadPool* pool_;
  std::size_t done_ = 0, total_;
  PackProgress progress_;
  std::set<std::string, std::less<>> read_;
};

}
