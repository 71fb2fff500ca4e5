// SPDX-License-Identifier: Apache-2.0
// Shapes, biases, and which matrices become one layer.
#include "generate/tensor_reader.hpp"

#include <stdexcept>

#include "edgeq/import/gguf_weights.hpp"
#include "generate/pack_layer.hpp"

namespace generate {

using edgeq::gguf::Tensor;

namespace {

std::string shape_text(std::size_t rows, std::size_t columns) {
  return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
}

}

const Tensor& TensorReader::take(const std::string& name, std::size_t rows, std::size_t columns) {
  const Tensor* tensor = file_->tensor(name);
  if (tensor == nullptr) throw std::runtime_error("the model file has no tensor " + name);
  if (tensor->rows() != rows || tensor->columns() != columns)
    throw std::runtime_error("tensor " + name + " has shape " +
                             shape_text(tensor->rows(), tensor->columns()) + ", not " +
                             shape_text(rows, columns));
  read_.insert(name);
  return *tensor;
}

std::size_t TensorReader::rows(const std::string& name) const {
  const Tensor* tensor = file_->tensor(name);
  if (tensor == nullptr) throw std::runtime_error("the model file has no tensor " + name);
  if (tensor->rows() == 0) throw std::runtime_error("tensor " + name + " is empty");
  return tensor->rows();
}

std::vector<float> TensorReader::vector(const std::string& name, std::size_t size) {
  return value_or_throw(edgeq::gguf::to_floats(take(name, 1, size)));
}

// The biases of matrices begin .. end - 1, zeros for those that have none; empty if none has one.
std::vector<float> TensorReader::bias(const std::vector<MatrixName>& matrices, std::size_t begin,
                                      std::size_t end) {
  std::vector<float> all;
  bool found = false;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string name = matrices[i].name + ".bias";
    std::vector<float> one(matrices[i].rows);
    if (has(name)) {
      one = vector(name, matrices[i].rows);
      found = true;
    }
    all.insert(all.end(), one.begin(), one.end());
  }
  return found ? all : std::vector<float>();
}

Projection TensorReader::projection(const std::vector<MatrixName>& matrices, std::size_t columns) {
  std::vector<const Tensor*> tensors;
  tensors.reserve(matrices.size());
  for (const MatrixName& matrix : matrices)
    tensors.push_back(&take(matrix.name + ".weight", matrix.rows, columns));

  Projection projection;
  for (std::size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
    while (end < tensors.size() && tensors[end]->type == tensors[begin]->type) ++end;
    auto layer = pack_layer({tensors.data() + begin, end - begin}, bias(matrices, begin, end), *pool_);
    if (!layer) throw std::runtime_error(layer.error().message);
    projection.layers.push_back(std::move(*layer));
  }
  // An output matrix that is not tied to the embedding is one projection more than announced.
  if (progress_) progress_(std::min(++done_, total_), total_);
  return projection;
}

void TensorReader::refuse_unread() const {
  for (const Tensor& tensor : file_->tensors())
    if (!read_.contains(tensor.name))
      throw std::runtime_error("the model file has a tensor " + std::string(tensor.name) +
                               " that this program does not know");
}

}
