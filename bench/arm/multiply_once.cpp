// SPDX-License-Identifier: Apache-2.0
// Multiplies by one kernel, on one thread, for count_table.py: packs random weights, prepares x, then runs as
// often as asked. What two runs execute more than one is the multiplication alone.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "support/model_formats.hpp"

namespace {

using namespace edgeq;

using IntegerActivations = ActivationList<DynamicInt8, DynamicInt16, Bf16, F32>;

constexpr bench::ModelFormat formats[] = {
    {"int4_g32", bench::pack_random<Int4<32>, IntegerActivations>},
    {"int4_g128", bench::pack_random<Int4<128>, IntegerActivations>},
    {"int4_zero_g32", bench::pack_random<Int4Zero<32>, IntegerActivations>},
    {"q4_k", bench::pack_random<Q4K, IntegerActivations>},
    {"bf16", bench::pack_random<Bf16Weight, bench::FloatFormatActivations>},
    {"fp8_channel", bench::pack_random<Fp8Channel<>, bench::FloatFormatActivations>},
};

struct Options {
  std::string format = "int4_g32", activation = "int8", isa = "generic";
  std::size_t m = 1, n = 64, k = 4096;
  int repetitions = 1;
};

/// The layer on the kernel asked for.
Result<AnyLinear> make_layer(const Options& options) {
  for (const bench::ModelFormat& format : formats) {
    if (options.format != format.name) continue;
    auto layer = format.pack(options.n, options.k, 1, ThreadPool(1));
    if (layer) layer = layer->with(options.activation);
    return layer ? layer->only(options.isa) : std::move(layer);
  }
  return Error{ErrorCode::invalid_argument, "unknown format " + options.format};
}

Status multiply(const Options& options) {
  auto layer = make_layer(options);
  if (!layer) return layer.error();
  bench::SplitMix64 random(7);
  std::vector<float> x(options.m * options.k), y(options.m * options.n);
  for (float& v : x) v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  Prepared prepared;
  if (Status status = layer->prepare(prepared, {x.data(), options.m, options.k}); !status) return status;
  for (int i = 0; i < options.repetitions; ++i) layer->run(prepared, {y.data(), options.m, options.n});
  return success();
}

}

/// Exits with 2, and says why, where there is no such kernel or the processor cannot run it; with 1 on other
/// errors.
int main(int argc, char** argv) {
  Options options;
  CLI::App app("Multiplies random x and W by one kernel, so that its instructions can be counted.");
  app.add_option("--format", options.format, "int4_g32 int4_g128 int4_zero_g32 q4_k bf16 fp8_channel");
  app.add_option("--activation", options.activation, "int8 int16 bf16 f32");
  app.add_option("--isa", options.isa, "the instruction set's name");
  app.add_option("--m", options.m, "rows of x");
  app.add_option("--n", options.n, "columns of y");
  app.add_option("--k", options.k, "columns of x");
  app.add_option("--repetitions", options.repetitions, "multiplications");
  CLI11_PARSE(app, argc, argv);
  if (Status status = multiply(options); !status) {
    std::fprintf(stderr, "multiply_once: %s\n", status.error().message.c_str());
    return status.error().code == ErrorCode::unsupported ? 2 : 1;
  }
}
