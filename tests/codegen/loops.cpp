// SPDX-License-Identifier: Apache-2.0
// Kernels whose inner loops are counted: those whose speed rests on accumulators staying in registers. Groups
// of 128 keep the loop over lines apart from the scaling at a group's end.
#include "edgeq/linear.hpp"

template <class Format, class Activation>
auto pack(const typename Format::View& view) {
  using Isas = edgeq::IsaList<edgeq::isa::avx512_bf16, edgeq::isa::avx512_vnni>;
  return edgeq::Linear<Format, Activation, Isas>::pack(view);
}

template auto pack<edgeq::Int4<128>, edgeq::DynamicInt8>(const edgeq::Int4<128>::View&);
template auto pack<edgeq::Int4<128>, edgeq::DynamicInt16>(const edgeq::Int4<128>::View&);
template auto pack<edgeq::Int8<128>, edgeq::DynamicInt8>(const edgeq::Int8<128>::View&);
template auto pack<edgeq::Int4<128>, edgeq::Bf16>(const edgeq::Int4<128>::View&);
template auto pack<edgeq::Fp8Block<>, edgeq::Bf16>(const edgeq::Fp8Block<>::View&);
template auto pack<edgeq::Bf16Weight, edgeq::Bf16>(const edgeq::Bf16Weight::View&);
