// SPDX-License-Identifier: Apache-2.0
// The names under which users know the weight formats.
#pragma once
#include "edgeq/format/float_weight.hpp"
#include "edgeq/format/group_quantized.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// 4-bit codes, value = scale * (code - 8). Group is any number of k, dynamic_group, per_channel or
/// per_tensor; a multiple of 8 costs no padding. Scale is BFloat16, Float16 or float. GPTQ symmetric, GGUF
/// Q4_0.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int4 = GroupQuantized<codec::Nibble, offset::Symmetric, Group, Scale>;

/// 4-bit codes with an integer zero per group, value = scale * (code - zero). AWQ, GPTQ asymmetric.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int4Zero = GroupQuantized<codec::Nibble, offset::IntegerZero, Group, Scale>;

/// 4-bit codes with a float minimum per group, value = scale * code + minimum. GGUF Q4_1.
template <int Group = 32, StoredFloat Scale = Float16>
using Int4Min = GroupQuantized<codec::Nibble, offset::FloatMinimum, Group, Scale>;

/// 8-bit codes, value = scale * (code - 128). A signed int8 weight q is stored as code q + 128. GGUF Q8_0,
/// Q5_0.
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int8 = GroupQuantized<codec::Byte, offset::Symmetric, Group, Scale>;

/// 8-bit codes with an integer zero per group, value = scale * (code - zero).
template <int Group = 128, StoredFloat Scale = BFloat16>
using Int8Zero = GroupQuantized<codec::Byte, offset::IntegerZero, Group, Scale>;

/// 8-bit codes with a float minimum per group, value = scale * code + minimum. GGUF Q5_1.
template <int Group = 32, StoredFloat Scale = Float16>
using Int8Min = GroupQuantized<codec::Byte, offset::FloatMinimum, Group, Scale>;

/// Unquantized weights.
using F32Weight = FloatWeight<float>;
using F16Weight = FloatWeight<Float16>;
using Bf16Weight = FloatWeight<BFloat16>;

}
