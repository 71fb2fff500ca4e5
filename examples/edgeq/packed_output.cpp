// SPDX-License-Identifier: Apache-2.0
// Which items become panels and which stay elements.
#include "packed_output.hpp"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "report.hpp"

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Result;
using edgeq::Status;

namespace {

Status add_panels(edgeq::packed::Writer& writer, const ModelItem& item, const std::string& name,
                  PackOptions options) {
  const auto bias = item.read_bias();
  if (!bias) return bias.error();
  return item.weights->add_to(writer, name, *bias, options);
}

}

Result<PackedSummary> write_packed(const ModelFile& model, const std::string& path,
                                   const PackedOutput& options, const edgeq::ThreadPool& threads) {
  const auto started = std::chrono::steady_clock::now();
  edgeq::packed::Writer writer;
  PackedSummary summary;
  for (const ModelItem& item : model.items) {
    if (!item.refusal.empty()) return Error{ErrorCode::unsupported, item.refusal};
    const bool stays =
        item.weights == nullptr || (item.role == Role::embedding && item.tensor && !options.pack_embeddings);
    Status status = stays ? writer.add(*item.tensor) : add_panels(writer, item, item.name, options.pack);
    if (status && stays && item.bias) status = writer.add(*item.bias);
    if (!status) return status.error();
    ++(stays ? summary.elements : summary.panels);
  }
  if (options.untie) {
    const ModelItem* embedding = model.tied_embedding();
    if (embedding == nullptr)
      return Error{ErrorCode::invalid_argument,
                   "the head is not tied, or there is no embedding to take it from"};
    if (Status s = add_panels(writer, *embedding, model.head_name(), options.pack); !s) return s.error();
    ++summary.panels;
  }
  // The pages of mapped files stay resident until they are given back.
  constexpr std::uint64_t release_step = std::uint64_t{64} << 20;
  std::uint64_t released = 0;
  Progress progress("packing");
  const Status written = writer.write(path, threads, [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total);
    summary.bytes = static_cast<std::size_t>(total);
    if (done - released < release_step) return;
    released = done;
    model.release_pages();
  });
  if (!written) return written.error();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return summary;
}

void print_summary(const std::string& path, const PackedSummary& summary, bool json) {
  if (json) {
    const nlohmann::json object = {{"panels", summary.panels},
                                   {"elements", summary.elements},
                                   {"bytes", summary.bytes},
                                   {"seconds", summary.seconds}};
    std::printf("%s\n", object.dump(2).c_str());
  } else {
    std::printf("%s: %zu matrices as panels, %zu other tensors, %s in %.1f s\n", path.c_str(), summary.panels,
                summary.elements, size_text(static_cast<double>(summary.bytes)).c_str(), summary.seconds);
  }
}

}
