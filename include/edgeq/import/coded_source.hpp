// SPDX-License-Identifier: Apache-2.0
// Integer weights of any checkpoint layout as weight sources: importers describe where codes, scales and
// zeros lie, and the format that holds them exactly follows from that.
#pragma once
#include <cmath>
#include <memory>
#include <optional>

#include "edgeq/format/formats.hpp"
#include "edgeq/import/act_order.hpp"
#include "edgeq/import/float_tensor.hpp"
#include "edgeq/import/packed_fields.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Integer weights W [N, K] of 1 to 8 bits, W[n, k] = scale * (code - zero) or scale * (code - 2^(bits - 1))
/// + minimum, with a scale and a zero or minimum for each n and group. It views the checkpoint's codes and
/// scales, and owns what had to be computed.
struct CodedWeights {
  std::size_t n = 0;
  std::size_t k = 0;
  std::size_t group = 1;            ///< columns that share a scale; in packed order, where there is one
  PackedFields codes;               ///< [N, K]
  FloatTable scales;                ///< [N, groups]
  std::vector<std::uint8_t> zeros;  ///< [N, groups]; empty: 2^(bits - 1) everywhere
  std::vector<float> minima;        ///< [N, groups], numbers of the scales' type; empty: zeros count
  GroupOrder order;

  /// Groups of the checkpoint.
  constexpr std::size_t groups() const noexcept { return divide_up(k, group); }
  /// The zero of symmetric codes.
  constexpr int midpoint() const noexcept { return 1 << (codes.bits - 1); }
  WeightShape shape() const noexcept { return {n, k, group, order.columns}; }

  /// Refuses views that do not hold the shape, and tables of other sizes. What an importer returns passes.
  Status validate() const {
    const auto refuse = [&](const char* what) {
      return Error{ErrorCode::invalid_argument, std::string("edgeq: the ") + what + " of W [" +
                                                    std::to_string(n) + ", " + std::to_string(k) +
                                                    "], group " + std::to_string(group) +
                                                    ", do not follow from its shape"};
    };
    if (group == 0 || codes.bits < 1 || codes.bits > 8) return refuse("groups or bits");
    if (k != 0 && n > SIZE_MAX / 16 / k)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    if (!codes.holds(n, k)) return refuse("codes");
    if (!scales.holds(n, groups())) return refuse("scales");
    if (!zeros.empty() && zeros.size() != n * groups()) return refuse("zeros");
    if (!minima.empty() && minima.size() != n * groups()) return refuse("minima");
    if (order.groups.size() != divide_up(order.columns.size(), group) ||
        std::any_of(order.groups.begin(), order.groups.end(), [&](std::size_t g) { return g >= groups(); }))
      return refuse("groups in order");
    return validate_order(k, order.columns);
  }
};

/// CodedWeights as rows of one format: what visit_weights hands out. Copies share the weights.
template <class Codec, class Offset, StoredFloat Scale>
struct CodedSource {
  using Format = GroupQuantized<Codec, Offset, dynamic_group, Scale>;
  std::shared_ptr<const CodedWeights> weights;

  WeightShape shape() const noexcept { return weights->shape(); }
  Status validate() const { return weights->validate(); }

  void read(std::size_t n, std::size_t r, CodeRows<Scale>& rows) const noexcept {
    const CodedWeights& w = *weights;
    // Without zeros of its own a format subtracts its codec's midpoint: the codes move there.
    const auto addend = static_cast<std::uint8_t>(Offset::has_zeros ? 0 : Codec::midpoint - w.midpoint());
    std::uint8_t* codes = rows.codes.data() + r * rows.k;
    const std::vector<std::uint32_t>& columns = w.order.columns;
    if (columns.empty()) w.codes.get_row(n, w.k, addend, codes);
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i] != no_column) codes[i] = static_cast<std::uint8_t>(w.codes.get(n, columns[i]) + addend);
    for (std::size_t g = 0; g < rows.groups; ++g) {
      const std::size_t from = w.order.source_group(g), to = r * rows.groups + g;
      rows.scales[to] = w.scales.at<Scale>(n, from);
      if constexpr (Offset::has_zeros) rows.zeros[to] = w.zeros[n * w.groups() + from];
      if constexpr (Offset::has_minima) rows.minima[to] = from_float<Scale>(w.minima[n * w.groups() + from]);
    }
  }
};

/// Calls f(source) with the CodedSource of the weights' own format: up to 4 bits in nibbles, else in bytes;
/// symmetric, with integer zeros, or with float zeros; scales as they are stored. Returns f's Result, or why
/// the weights contradict themselves.
template <class F>
auto visit_weights(CodedWeights weights, const F& f)
    -> decltype(f(CodedSource<codec::Nibble, offset::Symmetric, float>{})) {
  if (Status status = weights.validate(); !status) return status.error();
  const auto shared = std::make_shared<const CodedWeights>(std::move(weights));
  const auto with_scale = [&]<class Codec, class Offset>(Codec, Offset) {
    switch (shared->scales.type) {
      case FloatType::f16:
        return f(CodedSource<Codec, Offset, Float16>{shared});
      case FloatType::bf16:
        return f(CodedSource<Codec, Offset, BFloat16>{shared});
      default:
        return f(CodedSource<Codec, Offset, float>{shared});
    }
  };
  const auto with_offset = [&]<class Codec>(Codec codec) {
    if (!shared->minima.empty()) return with_scale(codec, offset::FloatZero{});
    if (!shared->zeros.empty()) return with_scale(codec, offset::IntegerZero{});
    return with_scale(codec, offset::Symmetric{});
  };
  return shared->codes.bits <= 4 ? with_offset(codec::Nibble{}) : with_offset(codec::Byte{});
}

/// Calls f with the source of weights that an importer read, or returns why it refused them.
template <class F>
auto visit_weights(Result<CodedWeights> weights, const F& f)
    -> decltype(f(CodedSource<codec::Nibble, offset::Symmetric, float>{})) {
  if (!weights) return weights.error();
  return visit_weights(std::move(*weights), f);
}

/// Takes zeros [N, groups], which may all be the symmetric one: then the weights are symmetric.
inline void set_zeros(CodedWeights& weights, std::vector<std::uint8_t> zeros) {
  const auto symmetric = [&](std::uint8_t zero) { return zero == weights.midpoint(); };
  if (!std::all_of(zeros.begin(), zeros.end(), symmetric)) weights.zeros = std::move(zeros);
}

/// The size of a group as configurations state it: -1, or more than K, is one group for all of K.
inline Result<std::size_t> group_size_of(const TensorChecks& checks, const CheckpointTensor& tensor,
                                         std::int64_t stated, std::size_t k) {
  if (stated < -1 || stated == 0)
    return checks.error(
        ErrorCode::invalid_argument, tensor.name,
        "is said to have groups of " + std::to_string(stated) + "; a group size is positive, or -1");
  const std::size_t all = std::max<std::size_t>(k, 1);
  return stated == -1 || static_cast<std::uint64_t>(stated) > all ? all : static_cast<std::size_t>(stated);
}

}
