// SPDX-License-Identifier: Apache-2.0
// One static program that prints one hash for each AMX case, to be replayed on hardware or on another
// emulator: equal lines mean equal bits. Where neither executes tiles, this repository's emulator does.
//
// Usage: amx_hashes. The last line of an integer case says whether the generic kernel agrees; the exit code
// is 1 if one does not.
#include <cstdio>
#include <cstring>
#include <string>

#include "edgeq/cpu.hpp"
#include "support/amx/emulator.hpp"
#include "support/amx/portable_tiles.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;
using Isas = IsaList<isa::portable_tiles, isa::amx_int8, isa::amx_bf16, isa::generic>;

bool all_agree = true;

/// FNV-1a over the bytes of y.
std::uint64_t hash_of(const std::vector<float>& y) {
  std::uint64_t hash = 14695981039346656037u;
  for (const float value : y) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value) bits = 0x7FC00000u;  // payloads are not specified
    for (int i = 0; i < 32; i += 8) hash = (hash ^ (bits >> i & 255)) * 1099511628211u;
  }
  return hash;
}

/// The processor, with AMX if it has it or the emulator lends it.
CpuFeatures machine(amx_emulator::Execution execution) {
  CpuFeatures cpu = CpuFeatures::detect();
  if (execution == amx_emulator::Execution::emulated)
    cpu.bits = with_dependencies(cpu.bits | feature_mask(Feature::amx_int8, Feature::amx_bf16));
  return cpu;
}

template <class F, class Activation>
void run_case(CpuFeatures cpu, std::size_t n, std::size_t k, std::size_t dynamic = 0) {
  const auto weights = test::random_weights<F>(n, k, dynamic, n + k);
  const auto x = test::random_floats(33 * k, k), bias = test::random_floats(n, n);
  const auto layer = value_or_throw(AnyLinear::pack<F, ActivationList<Activation>, Isas>(
      weights.view(), Bias(std::span<const float>(bias)), InlineExecutor{}, cpu));
  for (const std::size_t m : {1u, 16u, 17u, 32u, 33u}) {
    std::uint64_t generic = 0;
    for (const char* isa : {"generic", "portable_tiles", Activation::is_integer ? "amx_int8" : "amx_bf16"}) {
      const auto kernel = layer.only(isa);
      if (!kernel) continue;
      Prepared prepared;
      std::vector<float> y(m * n);
      if (!kernel->prepare(prepared, {x.data(), m, k})) std::abort();
      kernel->run(prepared, {y.data(), m, n});
      const std::uint64_t hash = hash_of(y);
      if (isa[0] == 'g') generic = hash;
      const bool agrees = !Activation::is_integer || hash == generic;
      all_agree = all_agree && agrees;
      std::printf("%016llx %s x %s [%zu, %zu] -> %zu, %s%s\n", static_cast<unsigned long long>(hash),
                  layer.format().c_str(), layer.activation(), m, k, n, isa, agrees ? "" : ": NOT generic's");
    }
  }
}

}

int main() {
  const amx_emulator::Execution execution = amx_emulator::install();
  std::printf("tiles: %s\n", execution == amx_emulator::Execution::native     ? "native"
                             : execution == amx_emulator::Execution::emulated ? "emulated"
                                                                              : "impossible");
  if (execution == amx_emulator::Execution::impossible) return 77;
  const CpuFeatures cpu = machine(execution);
  run_case<Int4<128>, DynamicInt8>(cpu, 37, 300);
  run_case<Int4<128>, DynamicInt16>(cpu, 37, 300);
  run_case<Int4<32>, DynamicInt8>(cpu, 64, 256);
  run_case<Int4Zero<96>, DynamicInt8>(cpu, 33, 250);
  run_case<Int4Min<48>, DynamicInt16>(cpu, 16, 143);
  run_case<Int8<128>, DynamicInt8>(cpu, 130, 257);
  run_case<Int8Zero<dynamic_group>, DynamicInt16>(cpu, 17, 613, 600);
  run_case<Int4<128>, Bf16>(cpu, 37, 300);
  run_case<Int4Zero<32>, Bf16>(cpu, 37, 71);
  run_case<Int8<128>, Bf16>(cpu, 37, 257);
  run_case<Bf16Weight, Bf16>(cpu, 37, 513);
  return all_agree ? 0 : 1;
}
