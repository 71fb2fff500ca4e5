// SPDX-License-Identifier: Apache-2.0
// Writes the elements of all tensors of a GGUF file, as edgeq decodes them, to standard output: raw f32 in
// the file's order, row after row. For check_gguf.py.
#include <cstdio>
#include <vector>

#include "edgeq/import/gguf_weights.hpp"
#include "edgeq/import/mapped_file.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: gguf_floats FILE\n"), 1;
  const auto fail = [](const edgeq::Error& error) {
    return std::fprintf(stderr, "gguf_floats: %s\n", error.message.c_str()), 1;
  };
  const auto mapped = edgeq::MappedFile::open(argv[1]);
  if (!mapped) return fail(mapped.error());
  const auto file = edgeq::gguf::File::parse(mapped->bytes());
  if (!file) return fail(file.error());
  for (const edgeq::gguf::Tensor& tensor : file->tensors()) {
    const auto values = edgeq::gguf::to_floats(tensor);
    if (!values) return fail(values.error());
    if (std::fwrite(values->data(), sizeof(float), values->size(), stdout) != values->size()) return 1;
  }
}
