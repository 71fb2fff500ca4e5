// SPDX-License-Identifier: Apache-2.0
// Every route through the kernel table, one Google Benchmark each: format x activation x ISA x M, on one
// thread.
//
// Weights fit the last-level cache, so these figures compare kernels; decode_step says what memory leaves of
// them.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "edgeq/linear.hpp"
#include "support/random_weights.hpp"

namespace {

using namespace edgeq;

constexpr std::size_t bench_n = 1024, bench_k = 2048;

void run_layer(benchmark::State& state, const AnyLinear& layer) {
  const auto m = static_cast<std::size_t>(state.range(0));
  bench::SplitMix64 random(7);
  std::vector<float> x(m * layer.k()), y(m * layer.n());
  for (float& v : x) v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  Prepared prepared;
  while (state.KeepRunning()) {
    if (Status status = layer.prepare(prepared, {x.data(), m, layer.k()}); !status)
      return state.SkipWithError(status.error().message.c_str());
    layer.run(prepared, {y.data(), m, layer.n()});
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  const auto products = static_cast<double>(m * layer.n() * layer.k());
  state.counters["GOPS"] =
      benchmark::Counter(2 * products * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(layer.plan(m).weight_bytes) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

/// Registers each kernel of a format under each activation, as format/activation/isa/M.
template <WeightFormat F, ActivationPolicy... Activations>
void register_format(ActivationList<Activations...> activations) {
  auto packed = AnyLinear::pack<F, decltype(activations)>(bench::RandomWeights<F>{bench_n, bench_k});
  if (!packed) return;
  for (const char* activation : {Activations::name...})
    for (const char* isa : {"avx512_vnni", "avx_vnni", "avx2", "highway", "generic"}) {
      auto view = packed->with(activation);
      if (!view) continue;
      auto layer = view->only(isa);
      if (!layer) continue;  // no such kernel, or not on this processor
      const std::string name = packed->format() + "/" + activation + "/" + isa;
      auto* entry = benchmark::RegisterBenchmark(
          name.c_str(), [l = *layer](benchmark::State& state) { run_layer(state, l); });
      entry->ArgName("M")->Arg(1);
      if (std::string(isa) != "generic") entry->Arg(4)->Arg(16)->Arg(64);
    }
}

}

int main(int argc, char** argv) {
  using Integer = ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16, F32>;
  register_format<Int4<128>>(Integer{});
  register_format<Int4<32>>(Integer{});
  register_format<Int4Zero<128>>(Integer{});
  register_format<Int4Min<32>>(Integer{});
  register_format<Int8<128>>(Integer{});
  register_format<F32Weight>(ActivationList<F32>{});
  register_format<F16Weight>(ActivationList<F32>{});
  register_format<Bf16Weight>(ActivationList<F32>{});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
