// SPDX-License-Identifier: Apache-2.0
// Single linears, from decode to prefill, beside the two ceilings of a kernel: the DRAM read probe, and the
// peak of the instruction that the kernel is made of.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/dram_probe.hpp"
#include "support/instruction_peak.hpp"
#include "support/model_formats.hpp"
#include "support/timed_unit.hpp"

namespace {

using namespace edgeq;

struct Options {
  std::vector<std::string> formats{"int4_g128", "int4_g32"};
  std::vector<std::string> activations{"int8", "int16"};
  std::vector<std::string> isas{"best"};
  std::vector<std::size_t> rows{1, 4, 16, 64, 512};
  std::vector<std::string> shapes{"qkv", "o", "gate_up", "down", "lm_head"};
  std::vector<std::size_t> threads{1, 2};
  std::size_t rounds = 5;
  bool json = false;
  /// The head meets one row of x for each sequence, whatever M the other layers see.
  bool head_at_all_rows = false;
};

/// W [N, K] of a linear of a 1.7B decoder.
struct Shape {
  const char* name;
  std::size_t n, k;
};
constexpr Shape known_shapes[] = {{"qkv", 4096, 2048},
                                  {"o", 2048, 2048},
                                  {"gate_up", 12288, 2048},
                                  {"down", 2048, 6144},
                                  {"lm_head", 151936, 2048}};

const Shape& shape_named(const std::string& name) {
  const Shape* found = std::find_if(std::begin(known_shapes), std::end(known_shapes),
                                    [&](const Shape& s) { return s.name == name; });
  if (found == std::end(known_shapes)) throw std::runtime_error("unknown shape " + name);
  return *found;
}

/// Below this M weights come out of memory and every call has a copy of its own; from it on, arithmetic
/// bounds a call and one copy is enough.
constexpr std::size_t warm_rows = 16;
/// So many bytes of copies are read between two uses of one, and as many by the probe: more than caches hold.
constexpr std::size_t cold_bytes = std::size_t{128} << 20;
/// A contender's turn in a round: whole passes over its copies until this time is used up.
constexpr double turn_seconds = 0.02;

/// A linear packed several times, as many as its smallest M needs.
std::vector<AnyLinear> pack_copies(bench::ModelFormat::Pack pack, const Shape& shape, bool cold,
                                   const ThreadPool& pool) {
  std::vector<AnyLinear> copies{value_or_throw(pack(shape.n, shape.k, 1, pool))};
  if (!cold) return copies;
  std::size_t count = (cold_bytes - 1) / copies[0].plan(1).weight_bytes + 1;
  if (count > 1) count = (count + 3) / 4 * 4;  // whole units
  while (copies.size() < count)
    copies.push_back(value_or_throw(pack(shape.n, shape.k, copies.size() + 1, pool)));
  return copies;
}

/// One way to run a linear, and the best time of a call.
struct Contender {
  std::size_t m = 1;
  std::vector<AnyLinear> copies;
  std::size_t peak = bench::InstructionPeaks::none;
  double best = 1e9;  // seconds
};

bool starts_with(const std::string& text, std::string_view prefix) {
  return text.rfind(prefix, 0) == 0;
}

/// A pass over integer activations for every 8 bits of them.
double passes(const std::string& activation) {
  return starts_with(activation, "int16") ? 2 : 1;
}

/// The contenders that exist: a format may lack an activation, and a pair an ISA.
std::vector<Contender> contenders_of(const std::vector<AnyLinear>& packed, const Shape& shape,
                                     const Options& options, bench::InstructionPeaks& peaks) {
  std::vector<Contender> contenders;
  for (const std::string& activation : options.activations)
    for (const std::string& isa : options.isas) {
      std::vector<AnyLinear> views;
      for (const AnyLinear& layer : packed) {
        Result<AnyLinear> view = layer.with(activation);
        if (view && isa != "best") view = view->only(isa);
        if (view) views.push_back(*view);
      }
      if (views.empty()) continue;
      for (const std::size_t m : options.rows) {
        if (m != 1 && shape.name == std::string("lm_head") && !options.head_at_all_rows) continue;
        const std::string chosen = views[0].plan(m).isa;
        if (chosen.empty()) continue;  // a forced kernel that wants more rows
        Contender c;
        c.m = m;
        c.copies.assign(views.begin(), m < warm_rows ? views.end() : views.begin() + 1);
        c.peak = peaks.add(chosen, starts_with(activation, "int"));
        contenders.push_back(std::move(c));
      }
    }
  return contenders;
}

void run_turn(Contender& c, const ThreadPool& pool, bench::DramProbe& probe, bench::InstructionPeaks& peaks) {
  const AnyLinear& first = c.copies[0];
  const std::size_t calls = bench::calls_per_unit(first.plan(c.m).weight_bytes, c.copies.size());
  bench::TimedUnit unit(c.m, first.n(), first.k(), 1);
  for (double used = 0; used < turn_seconds;)
    for (std::size_t i = 0; i < c.copies.size(); i += calls) {
      probe.sample(pool);
      peaks.sample(c.peak, pool);
      const double seconds = unit.seconds_per_call(std::span(c.copies).subspan(i, calls), pool);
      c.best = std::min(c.best, seconds);
      used += seconds * static_cast<double>(calls);
    }
}

void report(const Contender& c, const std::string& format, const Shape& shape, std::size_t threads,
            double probe_gb_s, const bench::InstructionPeaks& peaks, bool json) {
  const Plan plan = c.copies[0].plan(c.m);
  const double gb_s = static_cast<double>(plan.weight_bytes) / c.best * 1e-9;
  const double gops = 2 * static_cast<double>(c.m * shape.n * shape.k) / c.best * 1e-9;
  const bool has_peak = c.peak != bench::InstructionPeaks::none;
  const double peak_gops = has_peak ? peaks.gops(c.peak) / passes(plan.activation) : 0;
  const std::string instruction(has_peak ? peaks.name(c.peak) : "");
  if (json) {
    nlohmann::ordered_json line = {{"format", format},
                                   {"activation", plan.activation},
                                   {"isa", plan.isa},
                                   {"shape", shape.name},
                                   {"n", shape.n},
                                   {"k", shape.k},
                                   {"m", c.m},
                                   {"threads", threads},
                                   {"us", c.best * 1e6},
                                   {"weight_gb_s", gb_s},
                                   {"probe_gb_s", probe_gb_s},
                                   {"probe_fraction", gb_s / probe_gb_s},
                                   {"gops", gops},
                                   {"peak_instruction", nullptr},
                                   {"peak_gops", nullptr},
                                   {"peak_fraction", nullptr}};
    if (has_peak) {
      line["peak_instruction"] = instruction;
      line["peak_gops"] = peak_gops;
      line["peak_fraction"] = gops / peak_gops;
    }
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("%-17s %-11s %-12s %-8s %4zu %3zu %11.1f %7.1f %6.1f %5.2f %8.1f", format.c_str(),
                plan.activation.c_str(), plan.isa.c_str(), shape.name, c.m, threads, c.best * 1e6, gb_s,
                probe_gb_s, gb_s / probe_gb_s, gops);
    if (has_peak)
      std::printf(" %7.1f %5.2f  %s\n", peak_gops, gops / peak_gops, instruction.c_str());
    else
      std::printf(" %7s %5s  none known\n", "-", "-");
  }
  std::fflush(stdout);
}

/// Interleaves all contenders of one format, shape and thread count, round by round. Returns how many there
/// are.
std::size_t compare(const std::string& format, const Shape& shape, const std::vector<AnyLinear>& packed,
                    std::size_t threads, const Options& options) {
  const ThreadPool pool(threads);
  bench::InstructionPeaks peaks;
  std::vector<Contender> contenders = contenders_of(packed, shape, options, peaks);
  bench::DramProbe probe;
  for (std::size_t round = 0; round < options.rounds; ++round)
    for (Contender& c : contenders) run_turn(c, pool, probe, peaks);
  for (const Contender& c : contenders)
    report(c, format, shape, threads, probe.gigabytes_per_second(), peaks, options.json);
  return contenders.size();
}

void run_all(const Options& options) {
  if (!options.json)
    std::printf("%-17s %-11s %-12s %-8s %4s %3s %11s %7s %6s %5s %8s %7s %5s  %s\n", "format", "activation",
                "isa", "shape", "M", "thr", "us", "GB/s", "probe", "frac", "GOPS", "peak", "frac",
                "peak instruction");
  const bool cold =
      std::any_of(options.rows.begin(), options.rows.end(), [](std::size_t m) { return m < warm_rows; });
  std::size_t compared = 0;
  for (const std::string& format : options.formats) {
    const bench::ModelFormat::Pack pack = bench::pack_function(format);
    for (const std::string& name : options.shapes) {
      const Shape& shape = shape_named(name);
      const std::vector<AnyLinear> packed = pack_copies(pack, shape, cold, ThreadPool());
      for (const std::size_t threads : options.threads)
        compared += compare(format, shape, packed, threads, options);
    }
  }
  if (compared == 0)
    throw std::runtime_error("no format has a kernel for these activations, ISAs and M here");
}

}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times single linears beside the DRAM read probe and the peak of each kernel's instruction.");
  app.add_option("--formats", options.formats, bench::format_names())->delimiter(',');
  app.add_option("--activations", options.activations, "int8 int8/group int16 f32")->delimiter(',');
  app.add_option("--isas", options.isas, "best, or names to force")->delimiter(',');
  app.add_option("--m", options.rows, "rows of x")->delimiter(',');
  CLI::Option* shapes =
      app.add_option("--shapes", options.shapes, "qkv o gate_up down lm_head (unless named, at M = 1 only)")
          ->delimiter(',');
  app.add_option("--threads", options.threads)->delimiter(',');
  app.add_option("--rounds", options.rounds, "turns of each contender; minima are kept");
  app.add_flag("--json", options.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  options.head_at_all_rows = shapes->count() > 0;
  try {
    run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_bench: %s\n", error.what());
    return 1;
  }
}
