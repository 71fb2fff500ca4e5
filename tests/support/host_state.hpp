// SPDX-License-Identifier: Apache-2.0
// Floating-point settings that a host program may have made before it calls the library.
#pragma once
#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace test {

/// Rounds upward, flushes subnormals, or both, while it lives.
class HostState {
 public:
  HostState([[maybe_unused]] bool flush_subnormals, bool round_upward) {
    std::fegetenv(&saved_);
    if (round_upward) std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    if (flush_subnormals) _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ, DAZ
#elif defined(__aarch64__)
    std::uint64_t fpcr;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    if (flush_subnormals) asm volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24));  // FZ
#endif
    mine_ = current();
  }
  ~HostState() {
    std::fesetenv(&saved_);
  }
  HostState(const HostState&) = delete;

  /// Whether the settings, not the exception flags, are still as the constructor made them.
  bool unchanged() const {
    return current() == mine_;
  }

 private:
  static unsigned current() {
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3Fu;
#else
    return static_cast<unsigned>(std::fegetround());
#endif
  }
  std::fenv_t saved_;
  unsigned mine_;
};

}
