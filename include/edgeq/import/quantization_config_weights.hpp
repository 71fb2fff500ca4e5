// SPDX-License-Identifier: Apache-2.0
// How the weights of a module may be stored, for each method of quantization.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// How the weights of one module are stored, for each method. A `group_size` is the number of consecutive k
/// that share a scale; 0 (-1 in the files) stands for all of K.
namespace quantization {

/// AutoGPTQ and GPTQModel: qweight, qzeros, scales and perhaps g_idx, packed into int32.
struct Gptq {
  /// v1 ("gptq") stores each zero point less 1, v2 ("gptq_v2") as it is.
  enum class CheckpointFormat : std::uint8_t { v1, v2 };

  unsigned bits = 4;  ///< 2, 3, 4 or 8
  std::size_t group_size = 0;
  bool desc_act = false;  ///< g_idx has a meaning
  bool sym = true;        ///< all zero points are 2^(bits-1)
  CheckpointFormat checkpoint_format = CheckpointFormat::v1;
};

/// AutoAWQ, version "gemm", 4 bits: qweight, qzeros, scales.
struct Awq {
  std::size_t group_size = 0;
};

/// llm-compressor: weight_packed or weight, weight_scale and so on.
struct CompressedTensors {
  enum class Format : std::uint8_t {
    pack_quantized,
    int_quantized,
    float_quantized,
    naive_quantized,
    nvfp4_pack_quantized,
    mxfp4_pack_quantized,
    mxfp8_quantized,
  };
  enum class Strategy : std::uint8_t { tensor, channel, group, block, tensor_group };
  /// `group` stores weight_g_idx; "weight" and "static" store nothing special.
  enum class ActivationOrder : std::uint8_t { none, group };

  Format format = Format::pack_quantized;
  unsigned bits = 4;      ///< num_bits: 1 to 8
  bool is_float = false;  ///< type "float"
  bool symmetric = true;  ///< no weight_zero_point
  Strategy strategy = Strategy::tensor;
  std::size_t group_size = 0;          ///< for `group` and `tensor_group`
  std::array<std::size_t, 2> block{};  ///< for `block`: [rows, columns]
  ActivationOrder activation_order = ActivationOrder::none;
  std::string version;  ///< of the library that wrote it; empty if unknown
};

/// Codes of e4m3 with scales as DeepSeek and Qwen store them: weight and weight_scale_inv or weight_scale.
struct Fp8 {
  /// weight_block_size: [rows, columns]. Without it the scale's shape tells per tensor from per channel.
  std::optional<std::array<std::size_t, 2>> block;
};

/// gpt-oss: *_blocks and *_scales, 32 codes a scale.
struct Mxfp4 {};

/// NVIDIA ModelOpt, NVFP4: weight, weight_scale and weight_scale_2, 16 codes a scale.
struct ModelOptNvfp4 {};

using Weights = std::variant<Gptq, Awq, CompressedTensors, Fp8, Mxfp4, ModelOptNvfp4>;

}

}
