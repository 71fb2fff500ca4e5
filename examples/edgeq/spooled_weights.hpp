// SPDX-License-Identifier: Apache-2.0
// Quantized weights in a spool, viewed as a weight source; for the translation units of quantizers.
#pragma once
#include "edgeq/format/formats.hpp"
#include "edgeq/format/ordered_source.hpp"
#include "edgeq/quantize/quantized_weights.hpp"
#include "quantizer.hpp"
#include "weights_of_source.hpp"

namespace tool {

/// A view in format F, and the column at each of its positions, or none.
template <class F>
struct OrderedView : edgeq::OrderedSource<typename F::View> {
  using Format = F;
};

/// Elements of a spool from an aligned place on.
template <class T>
std::span<const T> elements(std::span<const std::byte> spool, std::size_t offset,
                            std::size_t count) noexcept {
  return {reinterpret_cast<const T*>(spool.data() + offset), count};
}

/// Appends an array; returns its place.
template <class T>
edgeq::Result<std::size_t> append_array(Spool& spool, const std::vector<T>& array) {
  auto begin = spool.align();
  if (!begin) return begin;
  if (auto status = spool.append(std::as_bytes(std::span(array))); !status) return status.error();
  return begin;
}

/// Appends what belongs to codes that lie at `codes` already. Only sizes, scales, zeros and order of W count.
template <class F>
edgeq::Result<SpooledWeights> spool_parameters(std::size_t codes, std::size_t n,
                                               const edgeq::quantize::QuantizedWeights<F>& parameters,
                                               std::vector<std::uint32_t> order, Spool& spool) {
  const auto scales = append_array(spool, parameters.scales), zeros = append_array(spool, parameters.zeros);
  if (!scales) return scales.error();
  if (!zeros) return zeros.error();
  const std::size_t k = parameters.k, group = parameters.group, count = parameters.scales.size(),
                    zero_count = parameters.zeros.size(), code_bytes = n * F::Codec::row_bytes(k);
  return SpooledWeights(
      [=, scales = *scales, zeros = *zeros, order = std::move(order)](std::span<const std::byte> spooled) {
        typename F::View view{n, k, elements<std::uint8_t>(spooled, codes, code_bytes),
                              elements<typename F::Scale>(spooled, scales, count)};
        view.zeros = elements<std::uint8_t>(spooled, zeros, zero_count);
        view.dynamic = group;
        return *any_weights(OrderedView<F>{{view, view.k, order}});
      });
}

/// Calls function with the format of these codes.
template <class Function>
auto with_format(const IntegerCodes& codes, const Function& function) {
  using namespace edgeq;
  const auto with_scale = [&]<StoredFloat S>(S) {
    if (codes.bits == 4)
      return codes.has_zeros ? function(std::type_identity<Int4Zero<dynamic_group, S>>{})
                             : function(std::type_identity<Int4<dynamic_group, S>>{});
    return codes.has_zeros ? function(std::type_identity<Int8Zero<dynamic_group, S>>{})
                           : function(std::type_identity<Int8<dynamic_group, S>>{});
  };
  switch (codes.scale) {
    case FloatType::f16:
      return with_scale(Float16{});
    case FloatType::bf16:
      return with_scale(BFloat16{});
    default:
      return with_scale(float{});
  }
}

/// Rows first .. first + count - 1 as floats, which all threads read.
inline std::vector<float> read_floats(const AnyWeights& weights, std::size_t first, std::size_t count,
                                      const edgeq::ThreadPool& threads) {
  const std::size_t k = weights.shape().k;
  constexpr std::size_t block = edgeq::panel_columns;
  std::vector<float> floats(count * k);
  threads.run(edgeq::divide_up(count, block), [&](std::size_t task) {
    const std::size_t begin = task * block;
    weights.read(first + begin, std::min(block, count - begin), floats.data() + begin * k);
  });
  return floats;
}

}
