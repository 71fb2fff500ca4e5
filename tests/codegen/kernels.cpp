// SPDX-License-Identifier: Apache-2.0
// Kernels to disassemble: 4-bit and 8-bit weights with 8-bit and 16-bit activations, on every instruction
// set.
#include "edgeq/linear.hpp"

template <class Format, class Activation>
auto pack(const typename Format::View& view) {
  return edgeq::Linear<Format, Activation>::pack(view);
}

template auto pack<edgeq::Int4<32>, edgeq::DynamicInt8>(const edgeq::Int4<32>::View&);
template auto pack<edgeq::Int4Zero<128>, edgeq::DynamicInt16>(const edgeq::Int4Zero<128>::View&);
template auto pack<edgeq::Int8<64>, edgeq::DynamicInt8>(const edgeq::Int8<64>::View&);
