// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the safetensors reader, as a file and as the header of one, and uses everything
// that it accepts: no fault, no lookup that misses, no view outside the file. Seeds:
// make_safetensors_corpus.py.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "edgeq/import/safetensors.hpp"
#include "use.hpp"

namespace {

using namespace edgeq;
using test::check;
using test::sum;

void use(std::span<const std::byte> bytes) {
  const auto file = safetensors::File::parse(bytes);
  if (!file.ok()) {
    check(file.error().message.starts_with("safetensors "));
    return;
  }
  std::uint64_t total = 0;
  for (const auto& [key, value] : file->metadata()) total += sum(key) + sum(value);
  const std::byte* end = bytes.data() + bytes.size();
  for (const CheckpointTensor& tensor : file->tensors()) {
    check(file->tensor(tensor.name) == &tensor);
    check(tensor.data.size() * 8 == tensor.size() * element_info(tensor.type).bits);
    check(tensor.data.empty() || tensor.data.data() + tensor.data.size() <= end);
    total += sum(tensor.name) + sum(tensor.data);
  }
  test::keep(total);
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  use(std::as_bytes(std::span(data, size)));
  const std::uint64_t length = size;
  std::vector<std::byte> file(sizeof length + size);
  std::memcpy(file.data(), &length, sizeof length);
  if (size != 0) std::memcpy(file.data() + sizeof length, data, size);
  use(file);
  return 0;
}
