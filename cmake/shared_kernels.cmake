# SPDX-License-Identifier: Apache-2.0
# Kernels that several of edgeq's own programs need, compiled once. Programs that need no others of the list link it for
# nothing; those left out here are compiled where they are used.

# Highway's kernels come with them, once, rather than in every program.
if(TARGET edgeq::highway)
  add_library(edgeq_shared_highway STATIC)
  target_link_libraries(edgeq_shared_highway PRIVATE edgeq::highway INTERFACE hwy::hwy)
  target_compile_definitions(edgeq_shared_highway INTERFACE EDGEQ_HAS_HIGHWAY=1)
  set(highway edgeq_shared_highway)
endif()

set(integers "DynamicInt8 DynamicInt16")
set(blocks "${integers} DynamicInt8PerGroup F32")
set(floats "F32 Bf16")
edgeq_add_kernels(edgeq_shared_kernels LINK ${highway} KERNELS
  "Int4<32>: ${blocks} Bf16"
  "Int4<48>: ${integers}"
  "Int4<128>: ${blocks} Bf16"
  "Int4<32, Float16>: ${blocks}"
  "Int4Min<32>: ${blocks} Bf16"
  "Int4Zero<dynamic_group, Float16>: ${integers}"
  "Int8<32, Float16>: ${blocks}"
  "Int8<per_channel, float>: ${integers}"
  "Int8Min<32>: ${blocks} Bf16 DynamicInt8Zero StaticInt8"
  "MxFp4: ${blocks} Bf16"
  "Fp4<16>: ${integers} F32"
  "Iq4Nl<32>: ${blocks} Bf16"
  "Q4K: ${blocks} Bf16"
  "Q6K: ${blocks} Bf16"
  "Fp8Block<>: ${floats}"
  "Fp8Channel<>: ${floats}"
  "F32Weight: ${floats}"
  "F16Weight: ${floats}"
  "Bf16Weight: ${floats}")
