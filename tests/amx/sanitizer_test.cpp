// SPDX-License-Identifier: Apache-2.0
// AddressSanitizer checks the memory that tile instructions touch, which it cannot see in hardware.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "amx/tile_instructions.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#endif

namespace {

using namespace tile_test;

class TileSanitizerDeathTest : public EmulatedTiles {
 protected:
  void SetUp() override {
#ifndef HAS_ADDRESS_SANITIZER
    GTEST_SKIP() << "built without AddressSanitizer";
#endif
    EmulatedTiles::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (!IsSkipped()) ldtilecfg(uniform_configuration(16, 60));
  }
  // 15 rows 64 bytes apart and the last, of 60.
  const std::vector<std::uint8_t> enough_ = random_values<std::uint8_t>(15 * 64 + 60, 1);
};

TEST_F(TileSanitizerDeathTest, SeesALoadOneByteTooLong) {
  tileloadd<0>(enough_.data(), 64);
  EXPECT_DEATH(tileloadd<0>(enough_.data() + 1, 64), "heap-buffer-overflow");
  EXPECT_DEATH(tileloadd<0>(enough_.data() - 1, 64), "heap-buffer-overflow");
}

TEST_F(TileSanitizerDeathTest, SeesAStoreOneByteTooLong) {
  std::vector<std::uint8_t> stored(enough_.size());
  tilestored<0>(stored.data(), 64);
  EXPECT_DEATH(tilestored<0>(stored.data() + 1, 64), "heap-buffer-overflow");
}

TEST_F(TileSanitizerDeathTest, SeesAConfigurationThatIsTooShort) {
  const std::vector<std::uint8_t> bytes(63);
  EXPECT_DEATH(asm volatile("ldtilecfg (%0)" : : "r"(bytes.data()) : "memory"), "heap-buffer-overflow");
}

}
