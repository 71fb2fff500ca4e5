// SPDX-License-Identifier: Apache-2.0
// Linears of GPTQ checkpoints, as AutoGPTQ and GPTQModel write them: 2, 3, 4 and 8 bits, both conventions of
// zero points, act-order.
#pragma once
#include "edgeq/import/coded_source.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gptq {

/// The tensors of one linear W [N, K] with G = ceil(K / group size) groups. Fields are packed LSB first,
/// those of 3 bits as a stream of 32 in 3 words. W[n, k] = scale * (code - zero) of the group of k.
struct Tensors {
  CheckpointTensor qweight;                    ///< I32 [ceil(K * bits / 32), N], packed along K
  CheckpointTensor qzeros;                     ///< I32 [G, ceil(N * bits / 32)], packed along N
  CheckpointTensor scales;                     ///< F16, BF16 or F32 [G, N]
  std::optional<CheckpointTensor> g_idx = {};  ///< I32 [K]: the group of every column
};

/// What the checkpoint's quantization config says of the linear.
struct Parameters {
  int bits = 4;
  std::int64_t group_size = 128;  ///< -1: one group
  bool sym = true;
  bool desc_act = false;
  /// "gptq" or "gptq_v2"; empty means the former. Others ("gptq_p", "marlin", ...) are other layouts.
  std::string_view checkpoint_format = {};
  /// K, where it is known; 0: as many columns as qweight has room for.
  std::size_t k = 0;
};

/// What qzeros holds.
enum class ZeroConvention : std::uint8_t {
  zero_minus_one,  ///< version 1, "gptq"
  zero,            ///< version 2, "gptq_v2"
};

/// How qzeros was read, for callers to report: files exist whose label is wrong.
struct ZeroDecision {
  ZeroConvention label = ZeroConvention::zero_minus_one;     ///< what checkpoint_format says
  ZeroConvention decision = ZeroConvention::zero_minus_one;  ///< how the fields were read
  const char* reason = "";

  bool contradicts_label() const noexcept { return label != decision; }
  /// For example "qzeros is labelled gptq, read as gptq_v2: every field is the symmetric zero".
  std::string to_string() const {
    const auto name = [](ZeroConvention c) { return c == ZeroConvention::zero ? "gptq_v2" : "gptq"; };
    return std::string("qzeros is labelled ") + name(label) + ", read as " + name(decision) + ": " + reason;
  }
};

namespace detail {

// A symmetric quantizer's zero is known, so its fields tell how they are stored, whatever the label says.
inline ZeroDecision decide(const std::vector<std::uint8_t>& fields, const Parameters& parameters) {
  ZeroDecision result;
  if (parameters.checkpoint_format == "gptq_v2") result.label = ZeroConvention::zero;
  result.decision = result.label;
  result.reason = "sym is false, so the label decides";
  if (!parameters.sym || fields.empty()) return result;
  const auto all_are = [&](int value) {
    return std::all_of(fields.begin(), fields.end(), [&](std::uint8_t field) { return field == value; });
  };
  const int symmetric = 1 << (parameters.bits - 1);
  if (all_are(symmetric)) {
    result.decision = ZeroConvention::zero;
    result.reason = "every field is the symmetric zero";
  } else if (all_are(symmetric - 1)) {
    result.decision = ZeroConvention::zero_minus_one;
    result.reason = "every field is the symmetric zero minus one";
  } else {
    result.reason = "the fields are not those of a symmetric quantizer, so the label decides";
  }
  return result;
}

// The fields [N, G] plus 1. They were made by subtracting 1 from all fields of a word in one subtraction, in
// which a field of 0 borrows from the next one; adding to the whole word undoes exactly that. Fields of 3
// bits straddle words and were made one by one.
inline std::vector<std::uint8_t> fields_plus_one(PackedFields fields, std::size_t n, std::size_t groups) {
  if (fields.bits == 3) {
    std::vector<std::uint8_t> zeros = fields.get_all(n, groups);
    for (std::uint8_t& zero : zeros) zero = (zero + 1) & 7;
    return zeros;
  }
  std::vector<std::byte> words(fields.data.begin(), fields.data.end());
  const std::uint32_t ones = 0xFFFFFFFFu / ((1u << fields.bits) - 1u);  // 1 in every field
  for (std::size_t i = 0; i + sizeof(ones) <= words.size(); i += sizeof(ones))
    store_little_endian(&words[i], load_little_endian<std::uint32_t>(&words[i]) + ones);
  fields.data = words;
  return fields.get_all(n, groups);
}

}

/// Checks the tensors of one linear and reads what is small. Stores in `decision`, if given, how qzeros was
/// read.
///
/// Where every field of a symmetric checkpoint is 2^(bits - 1) or 2^(bits - 1) - 1, that decides between the
/// versions; else the label does. A version 1 field of all ones (zero 0) has borrowed from its neighbours: 1
/// is added to all fields of a word at once, which undoes what GPTQModel did; 3-bit fields are counted one by
/// one, modulo 8. Columns are ordered by g_idx, whatever desc_act says, except that without desc_act a g_idx
/// of zeros means nothing.
///
/// unsupported: other bits, checkpoint formats and words but I32. invalid_file: shapes that contradict each
/// other, a g_idx that is not [K] or names no group.
inline Result<CodedWeights> read_weights(const Tensors& tensors, const Parameters& parameters,
                                         ZeroDecision* decision = nullptr) {
  TensorChecks checks("gptq");
  const auto& [qweight, qzeros, scales, g_idx] = tensors;
  const int bits = parameters.bits;
  const std::string_view format = parameters.checkpoint_format;
  if (!format.empty() && format != "gptq" && format != "gptq_v2")
    return checks.error(ErrorCode::unsupported, qweight.name,
                        "is of checkpoint format \"" + std::string(format) + "\", which is another layout");
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
    return checks.error(ErrorCode::unsupported, qweight.name,
                        "is said to have " + std::to_string(bits) + " bits; gptq has 2, 3, 4 or 8");
  if (Status status = checks.type_and_rank(qweight, {ElementType::i32}, 2); !status) return status.error();

  CodedWeights weights;
  weights.n = qweight.shape[1];
  weights.codes = {.data = qweight.data, .bits = bits, .word_step = weights.n, .line_step = 1};
  const std::size_t run = bits == 3 ? 3 : 1;  // the words after which codes begin at bit 0 again
  weights.k =
      parameters.k != 0 ? parameters.k : qweight.shape[0] / run * run * 32 / static_cast<std::size_t>(bits);
  const auto group = group_size_of(checks, qweight, parameters.group_size, weights.k);
  if (!group) return group.error();
  weights.group = *group;
  const std::size_t n = weights.n, k = weights.k, groups = weights.groups();
  checks.set_sizes("K = " + std::to_string(k) + ", N = " + std::to_string(n) + ", " + std::to_string(bits) +
                   " bits in groups of " + std::to_string(*group));
  PackedFields zeros{.data = qzeros.data, .bits = bits, .along = PackedAlong::rows};
  zeros.line_step = zeros.words_per_line(n);
  if (Status s = checks.type_and_shape(qweight, {ElementType::i32}, {{weights.codes.words_per_line(k), n}});
      !s)
    return s.error();
  if (Status s = checks.type_and_shape(qzeros, {ElementType::i32}, {{groups, zeros.line_step}}); !s)
    return s.error();
  if (Status s = checks.type_and_shape(scales, stored_floats, {{groups, n}}); !s) return s.error();
  weights.scales = {stored_float_type(scales.type), scales.data, 1, n};

  std::vector<std::uint8_t> fields = zeros.get_all(n, groups);
  const ZeroDecision read_as = detail::decide(fields, parameters);
  if (decision != nullptr) *decision = read_as;
  const bool add_one = read_as.decision == ZeroConvention::zero_minus_one;
  set_zeros(weights, add_one ? detail::fields_plus_one(zeros, n, groups) : std::move(fields));

  if (g_idx) {
    if (Status s = checks.type_and_shape(*g_idx, {ElementType::i32}, {{k}}); !s) return s.error();
    auto order = group_order(checks, *g_idx, k, *group, groups,
                             parameters.desc_act ? UnsetGroupIndex::none : UnsetGroupIndex::zeros);
    if (!order) return order.error();
    weights.order = std::move(*order);
  } else if (parameters.desc_act && groups > 1) {
    return checks.error(ErrorCode::invalid_file, qweight.name, "is act-ordered (desc_act) but has no g_idx");
  }
  return weights;
}

/// Calls f(source) with the linear as the format that holds it exactly: see edgeq::visit_weights. Returns f's
/// Result, or why read_weights refused.
template <class F>
auto visit_weights(const Tensors& tensors, const Parameters& parameters, const F& f,
                   ZeroDecision* decision = nullptr) {
  return edgeq::visit_weights(read_weights(tensors, parameters, decision), f);
}

}
