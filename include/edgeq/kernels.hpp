// SPDX-License-Identifier: Apache-2.0
// Every kernel that edgeq has, one header per instruction set. A new instruction set adds one line here.
#pragma once
#include "edgeq/isa/amx.hpp"
#include "edgeq/isa/avx2.hpp"
#include "edgeq/isa/avx512_bf16.hpp"
#include "edgeq/isa/avx512_vnni.hpp"
#include "edgeq/isa/generic.hpp"
#include "edgeq/isa/highway.hpp"
#include "edgeq/isa/neon.hpp"
#include "edgeq/isa/neon_dotprod.hpp"
#include "edgeq/isa/neon_i8mm.hpp"
