// SPDX-License-Identifier: Apache-2.0
// What this processor and its operating system let a program execute.
#pragma once
#include <cstdlib>

#include "edgeq/cpu/arm.hpp"
#include "edgeq/cpu/features.hpp"
#include "edgeq/cpu/x86.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

#if !(defined(__x86_64__) || defined(__aarch64__))
namespace detail {

inline CpuFeatures ask_machine() {
  return {};
}

}
#endif

inline CpuFeatures CpuFeatures::detect() {
  const char* disabled = std::getenv("EDGEQ_DISABLE");
  return detail::ask_machine().without(disabled != nullptr ? parse_feature_list(disabled) : 0);
}

}
