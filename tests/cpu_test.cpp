// SPDX-License-Identifier: Apache-2.0
// What CpuFeatures makes of CPUID, XCR0, HWCAP, refusals of the operating system and EDGEQ_DISABLE.
#include "edgeq/cpu.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using edgeq::CpuFeatures;
using edgeq::Feature;
using edgeq::feature_mask;

constexpr std::uint32_t avx2_features = feature_mask(Feature::avx2, Feature::avx_vnni);
constexpr std::uint32_t avx512_features =
    avx2_features | feature_mask(Feature::avx512, Feature::avx512_vnni, Feature::avx512_bf16);
constexpr std::uint32_t amx_features = feature_mask(Feature::amx_int8, Feature::amx_bf16);

// A processor that has every x86 feature: bit numbers from the Intel SDM, volume 2, CPUID.
constexpr edgeq::X86Cpuid everything() {
  edgeq::X86Cpuid cpuid;
  cpuid.max_leaf = 0x20;
  cpuid.leaf1_ecx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;  // FMA, OSXSAVE, AVX, F16C
  cpuid.leaf7_max_subleaf = 2;
  cpuid.leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  // AVX2, F DQ CD BW VL
  cpuid.leaf7_ecx = 1u << 1 | 1u << 11;              // AVX512_VBMI, AVX512_VNNI
  cpuid.leaf7_edx = 1u << 22 | 1u << 24 | 1u << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
  cpuid.leaf7_1_eax = 1u << 4 | 1u << 5;             // AVX-VNNI, AVX512_BF16
  return cpuid;
}

constexpr std::uint64_t all_state = 0x600E7;

constexpr CpuFeatures decode(const edgeq::X86Cpuid& cpuid, std::uint64_t xcr0 = all_state) {
  return edgeq::decode_x86(
      cpuid, [xcr0] { return xcr0; }, [] { return true; });
}

TEST(DecodeX86, UsesOnlyTheRegistersThatTheSystemSaves) {
  const struct {
    std::uint64_t xcr0;
    std::uint32_t usable;
  } cases[] = {
      {0x3, 0},                                   // SSE
      {0x7, avx2_features},                       // and AVX
      {0xE7, avx512_features},                    // and the three parts of AVX-512
      {0x600E7, avx512_features | amx_features},  // and both parts of AMX
      {0x200E7, avx512_features},                 // AMX without its tile data
      {0x400E7, avx512_features},                 // AMX without its configuration
      {0x67, avx2_features},                      // AVX-512 without zmm16-31
      {0xE3, 0},                                  // AVX-512 without AVX
      {0x60007, avx2_features},                   // AMX without AVX-512
  };
  for (const auto& [xcr0, usable] : cases) {
    const CpuFeatures features = decode(everything(), xcr0);
    EXPECT_EQ(features.bits, usable) << std::hex << "xcr0 " << xcr0;
    EXPECT_EQ(features.bits | features.withheld, avx512_features | amx_features);
    EXPECT_EQ(features.bits & features.withheld, 0u);
  }
}

TEST(DecodeX86, DoesNotReadXcr0WithoutOsxsave) {
  edgeq::X86Cpuid cpuid = everything();
  cpuid.leaf1_ecx &= ~(1u << 27);
  int reads = 0, requests = 0;
  const CpuFeatures features = edgeq::decode_x86(
      cpuid, [&] { return ++reads, all_state; }, [&] { return ++requests, true; });
  EXPECT_EQ(features.bits, 0u);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(requests, 0);
}

TEST(DecodeX86, RequestsTilesOnlyWhereProcessorAndSystemHaveThem) {
  const auto requests = [](const edgeq::X86Cpuid& cpuid, std::uint64_t xcr0) {
    int count = 0;
    edgeq::decode_x86(
        cpuid, [&] { return xcr0; }, [&] { return ++count, true; });
    return count;
  };
  edgeq::X86Cpuid no_amx = everything();
  no_amx.leaf7_edx = 0;
  EXPECT_EQ(requests(everything(), all_state), 1);
  EXPECT_EQ(requests(everything(), 0xE7), 0);
  EXPECT_EQ(requests(no_amx, all_state), 0);
}

TEST(DecodeX86, ReportsRefusedTilesAsWithheld) {
  const CpuFeatures features = edgeq::decode_x86(
      everything(), [] { return all_state; }, [] { return false; });
  EXPECT_EQ(features.bits, avx512_features);
  EXPECT_EQ(features.withheld, amx_features);
}

TEST(DecodeX86, NeedsEveryPartOfACombinedFeature) {
  for (const unsigned bit : {12u, 28u, 29u}) {
    edgeq::X86Cpuid cpuid = everything();
    cpuid.leaf1_ecx &= ~(1u << bit);
    EXPECT_EQ(decode(cpuid).bits, 0u) << "leaf 1 ecx bit " << bit;
  }
  for (const unsigned bit : {16u, 17u, 28u, 30u, 31u}) {
    edgeq::X86Cpuid cpuid = everything();
    cpuid.leaf7_ebx &= ~(1u << bit);
    EXPECT_EQ(decode(cpuid).bits, avx2_features) << "leaf 7 ebx bit " << bit;
  }
  edgeq::X86Cpuid no_tile = everything();
  no_tile.leaf7_edx &= ~(1u << 24);
  EXPECT_EQ(decode(no_tile).bits, avx512_features);
}

TEST(DecodeX86, LosesOneFeatureWithItsBit) {
  const auto lost = [](auto clear) {
    edgeq::X86Cpuid cpuid = everything();
    clear(cpuid);
    return decode(cpuid).missing(avx512_features | amx_features);
  };
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_ecx &= ~(1u << 11); }), feature_mask(Feature::avx512_vnni));
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_1_eax &= ~(1u << 4); }), feature_mask(Feature::avx_vnni));
  // The kernels of bf16 look codes up with AVX512_VBMI.
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_ecx &= ~(1u << 1); }), feature_mask(Feature::avx512_bf16));
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_1_eax &= ~(1u << 5); }), feature_mask(Feature::avx512_bf16));
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_edx &= ~(1u << 25); }), feature_mask(Feature::amx_int8));
  EXPECT_EQ(lost([](auto& cpuid) { cpuid.leaf7_edx &= ~(1u << 22); }), feature_mask(Feature::amx_bf16));
}

TEST(DecodeX86, IgnoresLeavesThatDoNotExist) {
  edgeq::X86Cpuid old = everything();
  old.max_leaf = 6;  // what a read of leaf 7 then returns is another leaf's
  EXPECT_EQ(decode(old), CpuFeatures{});
  edgeq::X86Cpuid no_subleaf = everything();
  no_subleaf.leaf7_max_subleaf = 0;
  EXPECT_EQ(decode(no_subleaf).missing(avx512_features),
            feature_mask(Feature::avx_vnni, Feature::avx512_bf16));
}

static_assert(decode(everything(), 0x7).bits == avx2_features, "decoding is a constant expression");

// HWCAP and HWCAP2 bits as the kernel's arch/arm64/include/uapi/asm/hwcap.h numbers them.
constexpr std::uint64_t asimd = 1u << 1, asimddp = 1u << 20, sve = 1u << 22;
constexpr std::uint64_t sve_i8mm = 1u << 9, sve_bf16 = 1u << 12, i8mm = 1u << 13, bf16 = 1u << 14;

TEST(DecodeArm, KnowsRealProcessors) {
  constexpr std::uint32_t neon = feature_mask(Feature::neon);
  constexpr std::uint32_t dotprod = neon | feature_mask(Feature::neon_dotprod);
  constexpr std::uint32_t matrix = dotprod | feature_mask(Feature::neon_i8mm, Feature::neon_bf16);
  EXPECT_EQ(edgeq::decode_arm(asimd, 0).bits, neon);                                           // Cortex-A72
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp, 0).bits, dotprod);                              // Cortex-A76
  EXPECT_EQ(edgeq::decode_arm(asimd | sve, 0).bits, neon | feature_mask(Feature::sve));        // A64FX
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp, i8mm | bf16).bits, matrix);                     // Apple M2
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp | sve, sve_i8mm | sve_bf16 | i8mm | bf16).bits,  // Neoverse V1
            matrix | feature_mask(Feature::sve));
  EXPECT_EQ(edgeq::decode_arm(asimd, sve_i8mm | sve_bf16).bits, neon);
}

TEST(CpuFeatures, WithoutTakesAwayWhatNeedsTheFeature) {
  const CpuFeatures all = decode(everything());
  EXPECT_EQ(all.without(Feature::avx512).bits, avx2_features);
  EXPECT_EQ(all.without(Feature::avx2).bits, 0u);
  EXPECT_EQ(all.without(Feature::avx512_vnni).missing(all.bits), feature_mask(Feature::avx512_vnni));
  EXPECT_EQ(all.without(Feature::avx512).withheld, all.bits & ~avx2_features);
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp | sve, i8mm | bf16).without(Feature::neon).bits, 0u);
}

TEST(CpuFeatures, HasMeansAllOfTheMask) {
  const CpuFeatures features{avx2_features};
  EXPECT_TRUE(features.has(avx2_features));
  EXPECT_TRUE(features.has(0u));
  EXPECT_FALSE(features.has(feature_mask(Feature::avx2, Feature::avx512)));
  EXPECT_EQ(features.missing(feature_mask(Feature::avx2, Feature::avx512)), feature_mask(Feature::avx512));
}

TEST(FeatureList, ReadsNamesAndIgnoresUnknownOnes) {
  constexpr std::uint32_t expected = feature_mask(Feature::amx_int8, Feature::avx512_vnni);
  EXPECT_EQ(edgeq::parse_feature_list("amx_int8,avx512_vnni"), expected);
  EXPECT_EQ(edgeq::parse_feature_list(" amx_int8, avx512_vnni ,"), expected);
  EXPECT_EQ(edgeq::parse_feature_list("amx_int8,avx1024,AVX2,avx512_vnni"), expected);
  EXPECT_EQ(edgeq::parse_feature_list("avx512_vnn"), 0u);
  EXPECT_EQ(edgeq::parse_feature_list(""), 0u);
}

TEST(FeatureList, NamesEveryFeatureOnce) {
  for (unsigned bit = 0; bit < 12; ++bit) {
    const Feature feature = static_cast<Feature>(1u << bit);
    EXPECT_EQ(edgeq::parse_feature_list(edgeq::feature_name(feature)), 1u << bit);
  }
  EXPECT_EQ(edgeq::feature_list(feature_mask(Feature::sve, Feature::avx2)), "avx2, sve");
  EXPECT_EQ(edgeq::parse_feature_list(edgeq::feature_list(0xFFF)), 0xFFFu);
}

class Detect : public testing::Test {
 protected:
  void SetUp() override { unsetenv("EDGEQ_DISABLE"); }
  void TearDown() override { unsetenv("EDGEQ_DISABLE"); }
};

// The compiler's run-time library decodes CPUID with code of its own.
TEST_F(Detect, AgreesWithTheCompilersLibrary) {
#if defined(__x86_64__)
  const CpuFeatures features = CpuFeatures::detect();
  EXPECT_EQ(features.has(Feature::avx2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(features.has(Feature::avx512),
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512cd"));
  EXPECT_EQ(features.has(Feature::avx512_vnni), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(features.has(Feature::avx512_bf16), __builtin_cpu_supports("avx512bf16") != 0);
#elif defined(__aarch64__)
  EXPECT_TRUE(CpuFeatures::detect().has(Feature::neon));
#else
  EXPECT_EQ(CpuFeatures::detect(), CpuFeatures{});
#endif
}

TEST_F(Detect, ObeysTheEnvironment) {
  const CpuFeatures all = CpuFeatures::detect();
  setenv("EDGEQ_DISABLE", "avx512,neon_dotprod,no_such_feature", 1);
  EXPECT_EQ(CpuFeatures::detect(), all.without(feature_mask(Feature::avx512, Feature::neon_dotprod)));
  setenv("EDGEQ_DISABLE", "avx2,neon", 1);
  EXPECT_EQ(CpuFeatures::detect().bits, 0u);
}

// For the thread sanitizer: nothing is written on first use, so nothing can race.
TEST_F(Detect, AnswersManyThreadsAtOnceAlike) {
  constexpr std::size_t threads = 32;
  std::vector<CpuFeatures> found(threads);
  std::vector<std::string> names(threads);
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < threads; ++i)
    callers.emplace_back([&, i] {
      start.arrive_and_wait();
      found[i] = CpuFeatures::detect();
      names[i] = edgeq::feature_list(found[i].bits);
    });
  for (std::thread& caller : callers) caller.join();
  for (std::size_t i = 0; i < threads; ++i) {
    EXPECT_EQ(found[i], CpuFeatures::detect());
    EXPECT_EQ(edgeq::parse_feature_list(names[i]), found[i].bits);
  }
}

}
