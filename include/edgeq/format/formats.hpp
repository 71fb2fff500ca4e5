// SPDX-License-Identifier: Apache-2.0
// The names under which users know the weight formats.
#pragma once
#include "edgeq/format/float_weight.hpp"
#include "edgeq/format/group_quantized.hpp"
#include "edgeq/format/scaled_float.hpp"
#include "edgeq/format/super_block.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// 4-bit codes, value = scale * (code - 8). Group is any number of k, dynamic_group, per_channel or
/// per_tensor; a multiple of 8 costs no padding. Scale is BFloat16, Float16 or float. GPTQ symmetric, GGUF
/// Q4_0, Q3_K.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int4 = GroupQuantized<codec::Nibble, offset::Symmetric, Group, Scale>;

/// 4-bit codes with an integer zero per group, value = scale * (code - zero). AWQ, GPTQ asymmetric.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int4Zero = GroupQuantized<codec::Nibble, offset::IntegerZero, Group, Scale>;

/// 4-bit codes with a float minimum per group, value = scale * code + minimum. GGUF Q4_1, Q2_K, Q4_K.
template <int Group = 32, StoredFloat Scale = Float16>
using Int4Min = GroupQuantized<codec::Nibble, offset::FloatMinimum, Group, Scale>;

/// 4-bit codes with a float zero per group, value = scale * (code - 8) + zero. PyTorch's tinygemm.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int4FloatZero = GroupQuantized<codec::Nibble, offset::FloatZero, Group, Scale>;

/// 8-bit codes, value = scale * (code - 128). A signed int8 weight q is stored as code q + 128. GGUF Q8_0,
/// Q5_0, Q6_K.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int8 = GroupQuantized<codec::Byte, offset::Symmetric, Group, Scale>;

/// 8-bit codes with an integer zero per group, value = scale * (code - zero).
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int8Zero = GroupQuantized<codec::Byte, offset::IntegerZero, Group, Scale>;

/// 8-bit codes with a float minimum per group, value = scale * code + minimum. GGUF Q5_1, Q5_K.
template <int Group = 32, StoredFloat Scale = Float16>
using Int8Min = GroupQuantized<codec::Byte, offset::FloatMinimum, Group, Scale>;

/// 4-bit floats (E2M1) with a power of two for each 32 k: MXFP4 of the OCP Microscaling Formats, gpt-oss.
using MxFp4 = GroupQuantized<codec::E2M1, offset::Symmetric, 32, E8M0>;
/// 4-bit floats with a scale per group. NVFP4: groups of 16.
template <int Group = 16, StoredScale Scale = Float8E4M3>
using Fp4 = GroupQuantized<codec::E2M1, offset::Symmetric, Group, Scale>;
/// Sixteen levels of ggml's IQ4_NL (groups of 32) and IQ4_XS with a scale per group.
template <int Group = 32, StoredScale Scale = Float16>
using Iq4Nl = GroupQuantized<codec::Iq4Nl, offset::Symmetric, Group, Scale>;
/// Sixteen quantiles of a normal distribution with a scale per group: QLoRA's NF4.
template <int Group = 64, StoredScale Scale = float>
using Nf4 = GroupQuantized<codec::Nf4, offset::Symmetric, Group, Scale>;

/// ggml's Q4_K: 4-bit codes, 6-bit scales and minima for 32 k, f16 for 256; 4.5 bits a weight.
using Q4K = SuperBlock<codec::Nibble, offset::FloatMinimum, SixBitHeaders>;
/// ggml's Q6_K: 6-bit codes, 8-bit scales for 16 k, f16 for 256; 6.5625 bits a weight.
using Q6K = SuperBlock<codec::SixBits, offset::Symmetric, ByteHeaders>;

/// FP8 with a float scale per block of BlockN x BlockK weights, value = scale * code. DeepSeek's
/// `weight_scale_inv` has blocks of 128 x 128. Either side may be dynamic_group.
template <int BlockN = 128, int BlockK = 128, class Element = Float8E4M3>
using Fp8Block = ScaledFloat<Element, BlockN, BlockK>;
/// FP8 with a float scale per output column. compressed-tensors "channel".
template <class Element = Float8E4M3>
using Fp8Channel = ScaledFloat<Element, 1, per_channel>;
/// FP8 with one float scale.
template <class Element = Float8E4M3>
using Fp8Tensor = ScaledFloat<Element, per_tensor, per_channel>;

/// Unquantized weights.
using F32Weight = FloatWeight<float>;
using F16Weight = FloatWeight<Float16>;
using Bf16Weight = FloatWeight<BFloat16>;

}
