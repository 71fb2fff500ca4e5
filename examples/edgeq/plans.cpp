// SPDX-License-Identifier: Apache-2.0
// The kernel tables of one format of each common kind: the only place here that instantiates kernels.
#include "plans.hpp"

#include "edgeq/linear.hpp"

namespace tool {

namespace {

template <class Format, class Activation>
std::string plan_of(std::string_view format, const edgeq::WeightShape& shape, std::size_t packed_bytes) {
  edgeq::Plan plan;
  plan.format = format;
  plan.activation = Activation::name;
  plan.numerics = Activation::numerics;
  plan.m = 1;
  plan.n = shape.n;
  plan.k = shape.k;
  edgeq::explain(edgeq::KernelTable<Format, Activation, edgeq::AllIsas>::entries,
                 edgeq::CpuFeatures::detect(), 1, false, plan);
  plan.weight_bytes = packed_bytes;
  return plan.to_string();
}

}

std::string plan_text(std::string_view format, const edgeq::WeightShape& shape, std::size_t packed_bytes) {
  using namespace edgeq;
  if (format.starts_with("int4 sym"))
    return plan_of<Int4<dynamic_group, Float16>, DynamicInt16>(format, shape, packed_bytes);
  if (format.starts_with("int4 zero"))
    return plan_of<Int4Zero<dynamic_group, Float16>, DynamicInt16>(format, shape, packed_bytes);
  if (format.starts_with("int8 sym"))
    return plan_of<Int8<dynamic_group, Float16>, DynamicInt16>(format, shape, packed_bytes);
  if (format.starts_with("bf16")) return plan_of<Bf16Weight, Bf16>(format, shape, packed_bytes);
  return "no kernels of this kind are compiled into this program\n";
}

}
