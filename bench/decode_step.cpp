// SPDX-License-Identifier: Apache-2.0
// All linears of one decoder step on cold weights, beside the DRAM read probe: how close is a step to the
// memory's limit?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "edgeq/linear.hpp"
#include "edgeq/thread_pool.hpp"
#include "support/dram_probe.hpp"
#include "support/random_weights.hpp"

namespace {

using namespace edgeq;
using Activations = ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16, F32>;

struct Options {
  std::vector<std::string> formats{"int4_g128", "int4_g32"};
  std::vector<std::string> activations{"int8", "int16"};
  std::vector<std::string> isas{"best"};
  std::vector<std::size_t> rows{1};
  std::vector<std::size_t> threads{1, 2};
  std::size_t layers = 28, hidden = 2048, kv = 1024, intermediate = 6144, vocabulary = 151936;
  std::size_t rounds = 5;
  bool json = false;
};

using Pack = Result<AnyLinear> (*)(std::size_t n, std::size_t k, std::uint64_t seed, const ThreadPool&);

/// The group matters to formats with dynamic_group only.
template <WeightFormat F, std::size_t group = 128>
Result<AnyLinear> pack_random(std::size_t n, std::size_t k, std::uint64_t seed, const ThreadPool& pool) {
  return AnyLinear::pack<F, Activations>(bench::RandomWeights<F>{n, k, group, seed}, {}, pool);
}

const std::map<std::string, Pack> pack_by_name{
    {"int4_g128", pack_random<Int4<128>>},      {"int4_g32", pack_random<Int4<32>>},
    {"int4_min_g32", pack_random<Int4Min<32>>}, {"int8_g128", pack_random<Int8<128>>},
    {"int8_g32", pack_random<Int8<32>>},        {"int4_dynamic_g128", pack_random<Int4<dynamic_group>>},
};

/// One kind of linear: `layers` copies with weights of their own, run `calls` at a time so that a unit reads
/// about 10 MB.
struct Shape {
  std::string name;
  std::vector<AnyLinear> layers;
  std::size_t calls = 1;
};

std::vector<Shape> build_model(const Options& options, Pack pack, const ThreadPool& pool) {
  const std::size_t h = options.hidden;
  const struct {
    const char* name;
    std::size_t n, k, count;
  } shapes[] = {{"qkv", h + 2 * options.kv, h, options.layers},
                {"o", h, h, options.layers},
                {"gate_up", 2 * options.intermediate, h, options.layers},
                {"down", h, options.intermediate, options.layers},
                {"head", options.vocabulary, h, 1}};
  std::vector<Shape> model;
  for (const auto& s : shapes) {
    Shape shape{s.name, {}, 1};
    for (std::size_t i = 0; i < s.count; ++i)
      shape.layers.push_back(value_or_throw(pack(s.n, s.k, i + 1, pool)));
    const std::size_t bytes = shape.layers[0].plan(1).weight_bytes;
    while (shape.calls < 4 && shape.calls * bytes < 6000000 && shape.layers.size() % (2 * shape.calls) == 0)
      shape.calls *= 2;
    model.push_back(std::move(shape));
  }
  return model;
}

/// One way to run the model, and the best time of a call of each shape.
struct Contender {
  std::string activation, isa;
  std::size_t m = 1;
  std::vector<std::vector<AnyLinear>> layers;  // by shape
  std::vector<double> best;                    // seconds, by shape
};

/// Runs every layer of every shape once, in units, the probe sampled between them.
void run_round(Contender& c, const std::vector<Shape>& model, const ThreadPool& pool,
               bench::DramProbe& probe) {
  const std::size_t threads = pool.concurrency();
  for (std::size_t s = 0; s < model.size(); ++s) {
    const std::size_t n = c.layers[s][0].n(), k = c.layers[s][0].k(), calls = model[s].calls;
    bench::SplitMix64 random(s + 1);
    std::vector<float> x(c.m * k), y(c.m * n);
    for (float& v : x) v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
    Prepared prepared;
    for (std::size_t i = 0; i < c.layers[s].size(); i += calls) {
      probe.sample(pool);
      const double start = bench::seconds_now(threads);
      for (std::size_t j = i; j < i + calls; ++j) {
        if (Status status = c.layers[s][j].prepare(prepared, {x.data(), c.m, k}, pool); !status) std::abort();
        c.layers[s][j].run(prepared, {y.data(), c.m, n}, pool);
      }
      c.best[s] = std::min(c.best[s], (bench::seconds_now(threads) - start) / static_cast<double>(calls));
    }
  }
}

void report(const Contender& c, const std::string& format, const std::vector<Shape>& model,
            std::size_t threads, double probe_gb_s, bool json) {
  double seconds = 0, bytes = 0, products = 0;
  for (std::size_t s = 0; s < model.size(); ++s) {
    const AnyLinear& layer = c.layers[s][0];
    const auto count = static_cast<double>(c.layers[s].size());
    seconds += count * c.best[s];
    bytes += count * static_cast<double>(layer.plan(c.m).weight_bytes);
    products += count * static_cast<double>(c.m * layer.n() * layer.k());
  }
  const double gb_s = bytes / seconds * 1e-9;
  const std::string isa = c.layers[0][0].plan(c.m).isa;
  if (json) {
    nlohmann::ordered_json line = {{"format", format},
                                   {"activation", c.activation},
                                   {"isa", isa},
                                   {"m", c.m},
                                   {"threads", threads},
                                   {"ms", seconds * 1e3},
                                   {"tokens_per_s", static_cast<double>(c.m) / seconds},
                                   {"weight_gb_s", gb_s},
                                   {"probe_gb_s", probe_gb_s},
                                   {"probe_fraction", gb_s / probe_gb_s},
                                   {"gops", 2 * products / seconds * 1e-9}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%-17s %-10s %-12s M=%-3zu %zu thr %8.2f ms %7.1f tok/s %6.1f GB/s of %5.1f: %.3f  %7.1f GOPS |",
        format.c_str(), c.activation.c_str(), isa.c_str(), c.m, threads, seconds * 1e3,
        static_cast<double>(c.m) / seconds, gb_s, probe_gb_s, gb_s / probe_gb_s,
        2 * products / seconds * 1e-9);
    for (std::size_t s = 0; s < model.size(); ++s)
      std::printf(" %s %.0f us", model[s].name.c_str(), c.best[s] * 1e6);
    std::printf("\n");
  }
  std::fflush(stdout);
}

/// Interleaves all contenders of one format and thread count, round by round.
void compare(const std::string& format, const std::vector<Shape>& model, std::size_t threads,
             const Options& options) {
  const ThreadPool pool(threads);
  std::vector<Contender> contenders;
  for (const std::string& isa : options.isas)
    for (const std::string& activation : options.activations)
      for (std::size_t m : options.rows) {
        Contender c{activation, isa, m, {}, std::vector<double>(model.size(), 1e9)};
        for (const Shape& shape : model) {
          c.layers.emplace_back();
          for (const AnyLinear& layer : shape.layers) {
            AnyLinear view = value_or_throw(layer.with(activation));
            c.layers.back().push_back(isa == "best" ? view : value_or_throw(view.only(isa)));
          }
        }
        contenders.push_back(std::move(c));
      }
  bench::DramProbe probe;
  for (std::size_t round = 0; round < options.rounds; ++round)
    for (Contender& c : contenders) run_round(c, model, pool, probe);
  for (const Contender& c : contenders)
    report(c, format, model, threads, probe.gigabytes_per_second(), options.json);
}

}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times all linears of one decoder step on cold weights, beside the DRAM read probe.");
  app.add_option("--formats", options.formats,
                 "int4_g128 int4_g32 int4_min_g32 int8_g128 int8_g32 int4_dynamic_g128")
      ->delimiter(',');
  app.add_option("--activations", options.activations, "int8 int8/group int16 f32")->delimiter(',');
  app.add_option("--isas", options.isas, "best, or names to force")->delimiter(',');
  app.add_option("--m", options.rows, "rows of x")->delimiter(',');
  app.add_option("--threads", options.threads)->delimiter(',');
  app.add_option("--layers", options.layers, "decoder layers (default: a 1.7B model, 28)");
  app.add_option("--hidden", options.hidden);
  app.add_option("--kv", options.kv, "width of k and of v");
  app.add_option("--intermediate", options.intermediate);
  app.add_option("--vocabulary", options.vocabulary);
  app.add_option("--rounds", options.rounds, "passes over the model; minima are kept");
  app.add_flag("--json", options.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& format : options.formats) {
      const auto pack = pack_by_name.find(format);
      if (pack == pack_by_name.end()) throw std::runtime_error("unknown format " + format);
      const std::vector<Shape> model = build_model(options, pack->second, ThreadPool());
      for (std::size_t threads : options.threads) compare(format, model, threads, options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decode_step: %s\n", error.what());
    return 1;
  }
}
