// SPDX-License-Identifier: Apache-2.0
// Every linear of a safetensors checkpoint (GPTQ, AWQ, compressed-tensors, FP8, MXFP4, plain floats),
// exactly: its format, its size, and a packed file of them all, which opens in no time.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "edgeq/import/checkpoint_linear.hpp"
#include "edgeq/packed/writer.hpp"
#include "edgeq/thread_pool.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: 07_load_checkpoint FOLDER PACKED_FILE\n"), 1;
  const auto fail = [](const edgeq::Error& error) {
    return std::fprintf(stderr, "%s\n", error.message.c_str()), 1;
  };

  auto checkpoint = edgeq::safetensors::Checkpoint::open(argv[1]);
  if (!checkpoint) return fail(checkpoint.error());
  std::ifstream stream(std::string(argv[1]) + "/config.json");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto config = edgeq::QuantizationConfig::parse(text.empty() ? "{}" : text);
  if (!config) return fail(config.error());

  edgeq::packed::Writer writer;
  for (const std::string& module : edgeq::CheckpointLinear::modules(*checkpoint)) {
    auto linear = edgeq::CheckpointLinear::find(*checkpoint, *config, module);
    if (!linear) return fail(linear.error());
    // The source's type says which edgeq format holds the weights exactly.
    std::string remark;
    const auto added = linear->visit(
        [&](const auto& source) -> edgeq::Status {
          using Format = typename std::remove_cvref_t<decltype(source)>::Format;
          const edgeq::WeightShape shape = source.shape();
          std::printf("%-48s [%6zu, %6zu] %s\n", module.c_str(), shape.n, shape.k, Format::name().c_str());
          return writer.add<Format>(module, source);
        },
        &remark);
    if (!added) return fail(added.error());
    if (!remark.empty()) std::printf("  %s\n", remark.c_str());
  }
  const edgeq::ThreadPool pool;
  if (auto written = writer.write(argv[2], pool); !written) return fail(written.error());
}
