// SPDX-License-Identifier: Apache-2.0
// convert: the same codes, scales and zeros in another form.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoint_output.hpp"
#include "commands.hpp"
#include "packed_output.hpp"
#include "report.hpp"

namespace tool {

edgeq::Status convert(const ConvertOptions& options) {
  const auto form = form_named(options.form);
  if (!form)
    return pack({.common = options.common, .in = options.in, .out = options.out, .pack = options.pack});
  const auto model = ModelFile::open(options.in);
  if (!model) return model.error();
  const edgeq::ThreadPool threads(options.common.thread_count());
  const auto summary = write_checkpoint(*model, *form, options.out, threads);
  if (!summary) return summary.error();
  print_summary(options.out, *summary, options.common.json);
  return edgeq::success();
}

void print_summary(const std::string& folder, const CheckpointSummary& summary, bool json) {
  if (json) {
    const nlohmann::json object = {
        {"quantized", summary.quantized}, {"kept", summary.kept}, {"bytes", summary.bytes}};
    std::printf("%s\n", object.dump(2).c_str());
  } else {
    std::printf("%s: %zu quantized matrices, %zu tensors as they were, %s\n", folder.c_str(),
                summary.quantized, summary.kept, size_text(static_cast<double>(summary.bytes)).c_str());
  }
}

}
