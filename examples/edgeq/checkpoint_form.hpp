// SPDX-License-Identifier: Apache-2.0
// The forms of checkpoints that the tool writes: which tensors a quantized linear becomes in each.
#pragma once
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgeq/import/safetensors_writer.hpp"
#include "edgeq/thread_pool.hpp"
#include "weights.hpp"

namespace tool {

static_assert(std::endian::native == std::endian::little, "the tool writes numbers as they lie in memory");

/// How a checkpoint stores its quantized linears.
enum class Form {
  gptq,                ///< version 2: qweight, qzeros, scales, g_idx
  compressed_tensors,  ///< pack-quantized integers, float-quantized FP8
  fp8,                 ///< weight, and weight_scale_inv per block or weight_scale per channel
};

/// Its name: "gptq", "compressed-tensors", "fp8".
const char* form_name(Form form) noexcept;
/// The form of that name; nullopt of others.
std::optional<Form> form_named(std::string_view name);

/// A linear as a form sees it: everything but its codes.
struct LinearDescription {
  std::string name;
  std::string format;  ///< for messages
  Parts parts;
  std::size_t n = 0, k = 0, group = 1;
  std::size_t positions = 0;  ///< of a packed row; more than K where groups of an act-order are uneven
  bool is_ordered = false;    ///< columns of a group need not be neighbours

  static LinearDescription of(const std::string& name, const AnyWeights& weights);
  std::size_t groups() const noexcept { return edgeq::divide_up(k, group); }
  /// Of float8: several scales along K, or one for several but not all rows.
  bool is_blocked() const noexcept { return groups() > 1 || (parts.block_rows > 1 && parts.block_rows < n); }
};

/// Refuses what the form cannot store without loss, in words.
edgeq::Status form_holds(Form form, const LinearDescription& linear);

/// What all linears of a checkpoint must agree on.
struct FormContext {
  bool has_zeros = false;                                ///< one is asymmetric: then all store their zeros
  std::optional<std::array<std::size_t, 2>> block = {};  ///< of fp8: rows and columns that share a scale

  /// Refuses linears that the form cannot store, alone or together.
  static edgeq::Result<FormContext> of(Form form, std::span<const LinearDescription> linears);
};

/// A tensor of the new checkpoint, and the function that makes its bytes when their turn has come.
struct FormTensor {
  edgeq::safetensors::TensorDeclaration declaration;
  std::function<std::vector<std::byte>(const edgeq::ThreadPool&)> bytes;
};

/// The tensors of one of these linears. The weights must outlive the functions.
std::vector<FormTensor> tensors_of(Form form, const LinearDescription& linear, const AnyWeights& weights,
                                   const FormContext& context);

}
