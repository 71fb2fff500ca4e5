// SPDX-License-Identifier: Apache-2.0
// All linears of one decoder step on cold weights, beside the DRAM read probe: how close is a step to the
// memory's limit?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/dram_probe.hpp"
#include "support/model_formats.hpp"
#include "support/timed_unit.hpp"

namespace {

using namespace edgeq;

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

/// One kind of linear: `layers` copies with weights of their own, run `calls` at a time so that a unit reads
/// about 10 MB.
struct Shape {
  std::string name;
  std::vector<AnyLinear> layers;
  std::size_t calls = 1;
};

std::vector<Shape> build_model(const Options& options, bench::ModelFormat::Pack pack,
                               const ThreadPool& pool) {
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
    shape.calls = bench::calls_per_unit(shape.layers[0].plan(1).weight_bytes, shape.layers.size());
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
  for (std::size_t s = 0; s < model.size(); ++s) {
    const std::size_t calls = model[s].calls;
    bench::TimedUnit unit(c.m, c.layers[s][0].n(), c.layers[s][0].k(), s + 1);
    for (std::size_t i = 0; i < c.layers[s].size(); i += calls) {
      probe.sample(pool);
      c.best[s] = std::min(c.best[s], unit.seconds_per_call(std::span(c.layers[s]).subspan(i, calls), pool));
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
  app.add_option("--formats", options.formats, bench::format_names())->delimiter(',');
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
      const std::vector<Shape> model = build_model(options, bench::pack_function(format), ThreadPool());
      for (std::size_t threads : options.threads) compare(format, model, threads, options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decode_step: %s\n", error.what());
    return 1;
  }
}
