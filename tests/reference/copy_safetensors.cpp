// SPDX-License-Identifier: Apache-2.0
// Prints what edgeq reads from a safetensors checkpoint and writes it to another file, for
// check_safetensors.py. A line for each tensor: type, shape, data and name, the last two in hexadecimal.
#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "edgeq/import/safetensors_checkpoint.hpp"
#include "edgeq/import/safetensors_writer.hpp"

namespace {

using namespace edgeq;

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(b) / 16];
    text += digits[std::to_integer<unsigned>(b) % 16];
  }
  return text;
}

void print(const CheckpointTensor& tensor) {
  std::string shape;
  for (const std::size_t extent : tensor.shape) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  std::printf("%s,%s,%s,%s\n", std::string(element_info(tensor.type).name).c_str(), shape.c_str(),
              hexadecimal(tensor.data).c_str(),
              hexadecimal(std::as_bytes(std::span(tensor.name.data(), tensor.name.size()))).c_str());
}

Status copy(const safetensors::Checkpoint& checkpoint, const std::string& path) {
  std::vector<safetensors::TensorDeclaration> declarations;
  for (const CheckpointTensor& tensor : checkpoint.tensors())
    declarations.push_back({std::string(tensor.name), tensor.type, tensor.shape});
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : checkpoint.files()[0].metadata()) metadata.emplace(key, value);
  auto writer = safetensors::Writer::create(path, std::move(declarations), metadata);
  if (!writer) return writer.error();
  for (const safetensors::TensorDeclaration& declaration : writer->tensors()) {
    auto rest = checkpoint.tensor(declaration.name)->data;
    while (!rest.empty()) {
      const std::size_t piece = std::min<std::size_t>(rest.size(), 7);  // of no type
      if (auto status = writer->append(declaration.name, rest.first(piece)); !status) return status;
      rest = rest.subspan(piece);
    }
  }
  return writer->finish();
}

}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: copy_safetensors FROM TO\n");
    return 2;
  }
  const auto checkpoint = safetensors::Checkpoint::open(argv[1]);
  if (!checkpoint) {
    std::fprintf(stderr, "%s\n", checkpoint.error().message.c_str());
    return 1;
  }
  for (const CheckpointTensor& tensor : checkpoint->tensors()) print(tensor);
  if (const auto status = copy(*checkpoint, argv[2]); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}
