// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic for the duration of a kernel, whatever the host program has set.
#pragma once
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Rounds to nearest and keeps subnormals while it lives, then restores the caller's setting. Hosts built
/// with -ffast-math start with subnormals flushed (crtfastmath.o), audio programs set it themselves; either
/// would change y.
class FloatControl {
 public:
#if defined(__x86_64__)
  FloatControl() noexcept : saved_(__builtin_ia32_stmxcsr()) {
    constexpr unsigned all_exceptions_masked_round_to_nearest =
        0x1F80;  // the state after reset: no FTZ, no DAZ
    if (saved_ != all_exceptions_masked_round_to_nearest)
      __builtin_ia32_ldmxcsr(all_exceptions_masked_round_to_nearest);
  }
  ~FloatControl() {
    __builtin_ia32_ldmxcsr(saved_);
  }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  FloatControl() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
  }
  ~FloatControl() {
    asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  std::uint64_t saved_;
#else
  FloatControl() noexcept = default;
  ~FloatControl() {}
#endif
 public:
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;
};

}
