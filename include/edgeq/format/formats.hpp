// SPDX-License-Identifier: Apache-2.0
// The names under which users know the weight formats.
#pragma once
#include "edgeq/format/float_weight.hpp"
#include "edgeq/format/group_quantized.hpp"
#include "edgeq/format/scaled_float.hpp"

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
