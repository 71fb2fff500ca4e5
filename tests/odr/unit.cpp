// SPDX-License-Identifier: Apache-2.0
// Runs layers of edgeq in a translation unit whose function name (UNIT) and flags the build decides.
#include "odr/unit.hpp"

#include "edgeq/linear.hpp"

namespace {

template <int Group, class Activation>
bool multiply(LayerCall& call) {
  std::vector<edgeq::BFloat16> scales(call.scale_count);
  for (std::size_t i = 0; i < call.scale_count; ++i) scales[i].bits = call.scales[i];
  auto layer = edgeq::Linear<edgeq::Int4<Group>, Activation>::pack(
      {.n = call.n, .k = call.k, .codes = {call.codes, call.code_bytes}, .scales = scales},
      std::span<const float>(call.bias, call.n));
  edgeq::Prepared prepared;
  if (!layer || !layer->prepare(prepared, {call.x, call.m, call.k})) return false;
  layer->run(prepared, {call.y, call.m, call.n});
  const std::string isa = layer->plan(call.m).isa;
  call.isa[isa.copy(call.isa, sizeof call.isa - 1)] = '\0';
  return true;
}

}

bool UNIT(LayerCall& call, bool long_groups, bool wide_activations) {
  if (long_groups)
    return wide_activations ? multiply<1000, edgeq::DynamicInt16>(call)
                            : multiply<1000, edgeq::DynamicInt8>(call);
  return wide_activations ? multiply<48, edgeq::DynamicInt16>(call) : multiply<48, edgeq::DynamicInt8>(call);
}
