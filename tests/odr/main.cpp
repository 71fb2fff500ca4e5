// SPDX-License-Identifier: Apache-2.0
// Runs one unit of the program, named by the argument, and prints the kernels' ISA and a hash of all outputs.
// The argument "model" prints the hash that the numerics contract demands.
#include <cstdio>
#include <string_view>

#include "odr/unit.hpp"
#include "support/integer_model.hpp"

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  if (name != "model" && name != "baseline" && name != "newest") return 2;
  LayerCall call{};
  std::uint64_t hash = 0;
  for (const bool long_groups : {false, true})
    for (const bool wide_activations : {false, true})
      for (const std::size_t m : {1, 3, 9}) {
        const integer_model::Problem p(m, 37, long_groups ? 1403 : 203, long_groups ? 1000 : 48);
        std::vector<float> y(p.m * p.n);
        if (name == "model") {
          y = integer_model::multiply(p, wide_activations ? 32512 : 127);
        } else {
          call = {p.m,
                  p.n,
                  p.k,
                  p.codes.size(),
                  p.scales.size(),
                  p.codes.data(),
                  p.scales.data(),
                  p.bias.data(),
                  p.x.data(),
                  y.data(),
                  {}};
          Unit& run = name == "newest" ? run_newest : run_baseline;
          if (!run(call, long_groups, wide_activations)) return 3;
        }
        hash = integer_model::hash(y, hash);
      }
  std::printf("%016llx %s\n", static_cast<unsigned long long>(hash), call.isa);
}
