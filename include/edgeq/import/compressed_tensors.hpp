// SPDX-License-Identifier: Apache-2.0
// Linears of compressed-tensors checkpoints (llm-compressor): formats pack-quantized, int-quantized,
// float-quantized and naive-quantized.
#pragma once
#include <array>
#include <charconv>

#include "edgeq/import/coded_source.hpp"
#include "edgeq/import/fp8.hpp"

namespace edgeq::inline EDGEQ_BASELINE::compressed_tensors {

/// The tensors of one linear W [N, K] with G groups. Integers q are signed: W[n, k] = scale * (q - zero
/// point). The weight is one of three:
/// - pack-quantized: `weight` is the file's weight_packed, I32 [N, words], fields q + 2^(bits - 1) along K,
///   LSB first;
/// - int-quantized: `weight` is I8 [N, K];
/// - float-quantized: `weight` is F8_E4M3 or F8_E5M2 [N, K].
struct Tensors {
  CheckpointTensor weight;
  CheckpointTensor weight_scale;  ///< [N, G]; [N, 1] or [N] per channel; [1] or [] per tensor
  std::optional<CheckpointTensor> weight_shape = {};  ///< I64 [2], (N, K): of packed weights
  /// Of integers: I8 of the scale's shape; of packed weights by group or channel I32 [words of N, G], packed
  /// as the weight is, but along N.
  std::optional<CheckpointTensor> weight_zero_point = {};
  std::optional<CheckpointTensor> weight_g_idx = {};  ///< I32 [K], of actorder "group"
};

/// Which weights share a scale.
enum class Strategy : std::uint8_t { tensor, channel, group, block };

/// What the `weights` of the linear's config group say.
struct Parameters {
  int bits = 4;
  bool symmetric = true;
  Strategy strategy = Strategy::group;
  std::int64_t group_size = 128;         ///< of Strategy::group; -1: one group
  std::optional<fp8::Block> block = {};  ///< `block_structure`, of Strategy::block
  /// The `version` of the quantization config: decides how 3, 5, 6 and 7 bits are packed where shapes do not.
  std::string_view version = {};
};

/// How fields whose width does not divide 32 lie in words.
enum class Packing : std::uint8_t {
  padded,  ///< floor(32 / bits) in a word, the rest of it 0: until release 0.17.1
  dense,   ///< one stream of bits: since release 0.18.0
};

/// The packing of a release, for example "0.15.0.1". Nothing for builds between the two releases, and for
/// text that does not begin with three numbers.
inline std::optional<Packing> packing_of_version(std::string_view version) noexcept {
  std::array<int, 3> number{};
  const char *at = version.data(), *const end = at + version.size();
  for (int& part : number) {
    if (&part != &number[0] && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (number <= std::array{0, 17, 1}) return Packing::padded;
  if (number >= std::array{0, 18, 0}) return Packing::dense;
  return std::nullopt;
}

namespace detail {

// N and K of packed weights. The tensor is the file's word against its own words, which are checked after.
inline Result<WeightShape> read_shape(const TensorChecks& checks, const Tensors& tensors) {
  if (!tensors.weight_shape)
    return checks.error(ErrorCode::invalid_file, tensors.weight.name, "is packed but has no weight_shape");
  const CheckpointTensor& shape = *tensors.weight_shape;
  if (Status s = checks.type_and_shape(shape, {ElementType::i64}, {{2}}); !s) return s.error();
  const std::int64_t n = shape.at<std::int64_t>(0), k = shape.at<std::int64_t>(1);
  if (n < 0 || k < 0 || static_cast<std::uint64_t>(n) != tensors.weight.shape[0])
    return checks.error(ErrorCode::invalid_file, shape.name,
                        "is [" + std::to_string(n) + ", " + std::to_string(k) + "], the packed weight is " +
                            describe(tensors.weight));
  return WeightShape{static_cast<std::size_t>(n), static_cast<std::size_t>(k)};
}

// The fields of packed weights, whose packing the tensors' shapes decide, else the version.
inline Result<PackedFields> packed_fields(const TensorChecks& checks, const Tensors& tensors,
                                          const Parameters& parameters, std::size_t n, std::size_t k,
                                          bool packed_zeros) {
  const CheckpointTensor& weight = tensors.weight;
  const auto per_word = static_cast<std::size_t>(32 / parameters.bits);
  const PackedFields dense{.data = weight.data, .bits = parameters.bits, .line_step = weight.shape[1]};
  PackedFields padded = dense;
  padded.fields_per_word = per_word;
  const auto fits = [&](const PackedFields& fields) {
    return fields.words_per_line(k) == weight.shape[1] &&
           (!packed_zeros || fields.words_per_line(n) == tensors.weight_zero_point->shape[0]);
  };
  if (!fits(padded) && !fits(dense)) {
    const TensorShape a{n, dense.words_per_line(k)}, b{n, padded.words_per_line(k)};
    if (Status s = checks.type_and_shape(weight, {ElementType::i32}, {a, b}); !s) return s.error();
    return checks.error(ErrorCode::invalid_file, tensors.weight_zero_point->name,
                        "is " + describe(*tensors.weight_zero_point) + "; N = " + std::to_string(n) +
                            " zero points need " + std::to_string(dense.words_per_line(n)) + " words, or " +
                            std::to_string(padded.words_per_line(n)) + " padded ones");
  }
  const bool same = 32 % parameters.bits == 0 || (k <= per_word && (!packed_zeros || n <= per_word));
  if (same || !fits(padded)) return dense;
  if (!fits(dense)) return padded;
  const auto packing = packing_of_version(parameters.version);
  if (packing) return *packing == Packing::dense ? dense : padded;
  return checks.error(ErrorCode::unsupported, weight.name,
                      "is " + describe(weight) + ", which fits both packings of " +
                          std::to_string(parameters.bits) + " bits, and version \"" +
                          std::string(parameters.version) + "\" tells neither");
}

}

/// Checks the tensors of a linear of integers and reads its zero points.
///
/// unsupported: Strategy::block; 3, 5, 6 or 7 packed bits of which neither shapes nor the version say how
/// they are packed. invalid_file: a K that is not a multiple of the group, shapes that contradict each other,
/// a weight_g_idx that names no group (one of -1 everywhere means nothing).
inline Result<CodedWeights> read_weights(const Tensors& tensors, const Parameters& parameters) {
  TensorChecks checks("compressed-tensors");
  const auto& [weight, scale, shape, zero_point, g_idx] = tensors;
  const bool packed = weight.type == ElementType::i32;
  if (Status s = checks.type_and_rank(weight, {ElementType::i32, ElementType::i8}, 2); !s) return s.error();
  if (parameters.bits < 1 || parameters.bits > 8)
    return checks.error(ErrorCode::invalid_argument, weight.name,
                        "is said to have " + std::to_string(parameters.bits) + " bits; there are 1 to 8");
  if (parameters.strategy == Strategy::block)
    return checks.error(ErrorCode::unsupported, weight.name, "has integers with a scale per block");
  if (!parameters.symmetric && !zero_point)
    return checks.error(ErrorCode::invalid_file, weight.name, "is asymmetric but has no weight_zero_point");

  CodedWeights weights;
  weights.n = weight.shape[0];
  weights.k = weight.shape[1];
  if (packed) {
    const auto true_shape = detail::read_shape(checks, tensors);
    if (!true_shape) return true_shape.error();
    weights.k = true_shape->k;
  }
  const std::size_t n = weights.n, k = weights.k;
  const bool grouped = parameters.strategy == Strategy::group,
             per_tensor = parameters.strategy == Strategy::tensor;
  const auto group = group_size_of(checks, weight, grouped ? parameters.group_size : -1, k);
  if (!group) return group.error();
  if (grouped && parameters.group_size > 0 && k % static_cast<std::uint64_t>(parameters.group_size) != 0)
    return checks.error(ErrorCode::invalid_file, weight.name,
                        "has K = " + std::to_string(k) + ", which must be a multiple of the group, " +
                            std::to_string(parameters.group_size));
  weights.group = *group;
  const std::size_t groups = weights.groups();
  checks.set_sizes("K = " + std::to_string(k) + ", N = " + std::to_string(n) + ", " +
                   std::to_string(parameters.bits) + " bits in groups of " + std::to_string(*group));
  const auto expect_per_group = [&](const CheckpointTensor& tensor, ElementTypes types) {
    if (per_tensor) return checks.type_and_shape(tensor, types, {{1}, {}, {1, 1}});
    if (grouped) return checks.type_and_shape(tensor, types, {{n, groups}});
    return checks.type_and_shape(tensor, types, {{n, 1}, {n}});
  };
  if (Status s = expect_per_group(scale, stored_floats); !s) return s.error();
  const std::size_t row_step = per_tensor ? 0 : grouped ? groups : 1;
  weights.scales = {stored_float_type(scale.type), scale.data, row_step, 1};

  const bool packed_zeros = zero_point && packed && !per_tensor;
  if (packed_zeros) {
    if (Status s = checks.type_and_rank(*zero_point, {ElementType::i32}, 2); !s) return s.error();
  }
  if (packed) {
    const auto fields = detail::packed_fields(checks, tensors, parameters, n, k, packed_zeros);
    if (!fields) return fields.error();
    weights.codes = *fields;
  } else {
    weights.codes = {.data = weight.data, .bits = 8, .word_bits = 8, .line_step = k, .is_signed = true};
  }

  if (packed_zeros) {
    PackedFields fields = weights.codes;
    fields.data = zero_point->data;
    fields.along = PackedAlong::rows;
    fields.word_step = groups;
    fields.line_step = 1;
    if (Status s =
            checks.type_and_shape(*zero_point, {ElementType::i32}, {{fields.words_per_line(n), groups}});
        !s)
      return s.error();
    set_zeros(weights, fields.get_all(n, groups));
  } else if (zero_point) {
    if (Status s = expect_per_group(*zero_point, {ElementType::i8}); !s) return s.error();
    std::vector<std::uint8_t> zeros(n * groups);
    for (std::size_t i = 0; i < zeros.size(); ++i) {
      const int zero =
          zero_point->at<std::int8_t>(i / std::max<std::size_t>(groups, 1) * row_step + i % groups);
      if (zero + weights.midpoint() < 0)
        return checks.error(ErrorCode::invalid_file, zero_point->name,
                            "has zero point " + std::to_string(zero) + "; " +
                                std::to_string(parameters.bits) + " bits begin at " +
                                std::to_string(-weights.midpoint()));
      zeros[i] = static_cast<std::uint8_t>(zero + weights.midpoint());
    }
    set_zeros(weights, std::move(zeros));
  }
  if (g_idx) {
    if (Status s = checks.type_and_shape(*g_idx, {ElementType::i32}, {{k}}); !s) return s.error();
    auto order = group_order(checks, *g_idx, k, *group, groups, UnsetGroupIndex::minus);
    if (!order) return order.error();
    weights.order = std::move(*order);
  }
  return weights;
}

/// Calls f(source) with the linear as the format that holds it exactly: integers as edgeq::visit_weights
/// does, FP8 as fp8::visit_weights does. Returns f's Result, or why it refused.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f)
    -> decltype(f(fp8::Source<Float8E4M3>{})) {
  if (element_info(tensors.weight.type).name.substr(0, 3) != "F8_")
    return edgeq::visit_weights(read_weights(tensors, parameters), f);
  const TensorChecks checks("compressed-tensors");
  const auto refuse = [&](const char* why) {
    return checks.error(ErrorCode::unsupported, tensors.weight.name, why);
  };
  if (tensors.weight_zero_point) return refuse("has floats with zero points");
  if (tensors.weight_g_idx) return refuse("has floats in act-order");
  fp8::Parameters blocks;
  if (parameters.strategy == Strategy::block) {
    if (!parameters.block) return refuse("has a scale per block but no block_structure");
    blocks.block = parameters.block;
  } else if (parameters.strategy == Strategy::group && parameters.group_size != -1) {
    if (parameters.group_size <= 0) return refuse("has a scale per group but no group size");
    blocks.block = fp8::Block{1, static_cast<std::size_t>(parameters.group_size)};
  }
  return fp8::visit_weights({tensors.weight, tensors.weight_scale}, blocks, f);
}

}
