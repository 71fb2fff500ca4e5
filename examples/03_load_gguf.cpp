// SPDX-License-Identifier: Apache-2.0
// Every matrix of a GGUF file as an edgeq layer: its format, its kernel, its size.
#include <cstdio>
#include <string>

#include "edgeq/import/gguf_weights.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "edgeq/linear.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 03_load_gguf FILE\n"), 1;
  const auto fail = [](const edgeq::Error& error) {
    return std::fprintf(stderr, "%s\n", error.message.c_str()), 1;
  };

  auto mapped = edgeq::MappedFile::open(argv[1]);
  if (!mapped) return fail(mapped.error());
  auto file = edgeq::gguf::File::parse(mapped->bytes());
  if (!file) return fail(file.error());

  for (const edgeq::gguf::Tensor& tensor : file->tensors()) {
    if (tensor.rank != 2) continue;
    // The source's type says which edgeq format holds the tensor exactly.
    auto layer =
        edgeq::gguf::visit_weights(tensor, [](const auto& source) -> edgeq::Result<edgeq::AnyLinear> {
          using Format = typename std::remove_cvref_t<decltype(source)>::Format;
          return edgeq::AnyLinear::pack<Format, edgeq::ActivationList<edgeq::F32>>(source);
        });
    if (!layer) return fail(layer.error());
    const edgeq::Plan plan = layer->plan(1);
    std::printf("%-28s [%6zu, %6zu] %-20s %-12s %5.2f bits per weight\n", std::string(tensor.name).c_str(),
                plan.n, plan.k, plan.format.c_str(), plan.isa.c_str(), plan.bits_per_weight);
  }
}
