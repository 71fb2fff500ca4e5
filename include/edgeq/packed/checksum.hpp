// SPDX-License-Identifier: Apache-2.0
// The checksum of packed files, XXH3-64 by the xxHash library. Part of the component edgeq::checkpoint.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE::packed {

/// XXH3-64 with seed 0 over bytes that arrive in pieces.
class Checksum {
 public:
  Checksum() noexcept { XXH3_64bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) noexcept {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  std::uint64_t value() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// For File::verify.
inline std::uint64_t checksum(std::initializer_list<std::span<const std::byte>> parts) noexcept {
  Checksum sum;
  for (const std::span<const std::byte> part : parts) sum.add(part);
  return sum.value();
}

}
