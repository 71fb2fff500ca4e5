// SPDX-License-Identifier: Apache-2.0
// pack: a checkpoint or GGUF file becomes a packed file.
#include <cstdio>

#include "commands.hpp"
#include "packed_output.hpp"

namespace tool {

edgeq::Status pack(const PackCommand& options) {
  const auto model = ModelFile::open(options.in);
  if (!model) return model.error();
  if (model->kind == ModelFile::Kind::packed)
    return edgeq::Error{edgeq::ErrorCode::invalid_argument, "\"" + options.in + "\" is packed already"};
  const edgeq::ThreadPool threads(options.common.thread_count());
  const PackedOutput output{options.pack, options.pack_embeddings, options.untie};
  const auto summary = write_packed(*model, options.out, output, threads);
  if (!summary) return summary.error();
  const bool shares_elements = model->tied_embedding() != nullptr && !options.untie &&
                               !options.pack_embeddings && model->tied_embedding()->tensor;
  print_summary(options.out, *summary, options.common.json);
  if (shares_elements && !options.common.json)
    std::printf(
        "the head is tied to an embedding that stayed elements: --embeddings pack lets both use one set "
        "of panels, --untie gives the head its own\n");
  return edgeq::success();
}

}
