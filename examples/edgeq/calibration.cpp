// SPDX-License-Identifier: Apache-2.0
#include "calibration.hpp"

#include "edgeq/import/float_tensor.hpp"

namespace tool {

using edgeq::CheckpointTensor;
using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Result;

Result<Calibration> Calibration::open(const std::string& path) {
  auto file = edgeq::safetensors::Checkpoint::open(path);
  if (!file) return file.error();
  return Calibration(*std::move(file));
}

Result<Hessian> Calibration::hessian_of(const std::string& module, std::size_t k,
                                        const edgeq::ThreadPool& threads) const {
  const CheckpointTensor* tensor = file_.tensor(module + ".input");
  if (tensor == nullptr) tensor = file_.tensor(module);
  if (tensor == nullptr)
    return Error{ErrorCode::invalid_argument, "the calibration file has no tensor " + module + " or " +
                                                  module + ".input (--ignore leaves a module alone)"};
  const edgeq::TensorChecks checks("calibration");
  if (auto status = checks.type(*tensor, edgeq::stored_floats); !status) return status.error();
  if (tensor->shape.empty() || tensor->shape.back() != k || k == 0)
    return checks.error(ErrorCode::invalid_argument, tensor->name,
                        "is " + describe(*tensor) + "; its last extent must be K = " + std::to_string(k));
  const std::size_t rows = tensor->size() / k;
  const edgeq::FloatTable table{edgeq::stored_float_type(tensor->type), tensor->data, k, 1};
  Hessian hessian(k);
  const RunTasks run = [&](std::size_t tasks, const std::function<void(std::size_t)>& task) {
    threads.run(tasks, task);
  };
  constexpr std::size_t piece_rows = 256;
  std::vector<float> piece;
  for (std::size_t first = 0; first < rows; first += piece_rows) {
    const std::size_t count = std::min(piece_rows, rows - first);
    piece.resize(count * k);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < k; ++i) piece[r * k + i] = table.value(first + r, i);
    hessian.add({piece.data(), count, k}, run);
  }
  return hessian;
}

}
