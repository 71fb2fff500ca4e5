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
constexpr std::uint64_t all_words = ~std::uint64_t{0};

constexpr std::uint32_t neon_features = feature_mask(Feature::neon);
constexpr std::uint32_t dotprod_features = neon_features | feature_mask(Feature::neon_dotprod);
constexpr std::uint32_t matrix_features =
    dotprod_features | feature_mask(Feature::neon_i8mm, Feature::neon_bf16);
constexpr std::uint32_t sve_features = feature_mask(Feature::sve, Feature::sve_i8mm, Feature::sve_bf16);
constexpr std::uint32_t arm_features = matrix_features | sve_features | feature_mask(Feature::sve_512);

TEST(DecodeArm, KnowsRealProcessors) {
  EXPECT_EQ(edgeq::decode_arm(asimd, 0, 0).bits, neon_features);               // Cortex-A72
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp, 0, 0).bits, dotprod_features);  // Cortex-A76
  EXPECT_EQ(edgeq::decode_arm(asimd | sve, 0, 512).bits,                       // A64FX: SVE without sdot
            neon_features | feature_mask(Feature::sve, Feature::sve_512));
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp, i8mm | bf16, 0).bits, matrix_features);  // Apple M2
  constexpr std::uint64_t everything2 = sve_i8mm | sve_bf16 | i8mm | bf16;
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp | sve, everything2, 256).bits,  // Neoverse V1
            matrix_features | sve_features);
  EXPECT_EQ(edgeq::decode_arm(asimd | asimddp | sve, everything2, 128).bits,  // Neoverse N2
            matrix_features | sve_features);
}

TEST(DecodeArm, GivesEachFeatureForItsBitAlone) {
  constexpr std::uint64_t words[] = {asimd, asimddp, sve}, words2[] = {sve_i8mm, sve_bf16, i8mm, bf16};
  const auto decode = [](std::uint64_t hwcap, std::uint64_t hwcap2) {
    return edgeq::decode_arm(hwcap | asimd | sve, hwcap2, 256).bits &
           ~feature_mask(Feature::neon, Feature::sve);
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t word = std::uint64_t{1} << bit;
    EXPECT_EQ(decode(word, 0), word == asimddp ? feature_mask(Feature::neon_dotprod) : 0u) << "HWCAP " << bit;
    const std::uint32_t expected = word == i8mm       ? feature_mask(Feature::neon_i8mm)
                                   : word == bf16     ? feature_mask(Feature::neon_bf16)
                                   : word == sve_i8mm ? feature_mask(Feature::sve_i8mm)
                                   : word == sve_bf16 ? feature_mask(Feature::sve_bf16)
                                                      : 0u;
    EXPECT_EQ(decode(0, word), expected) << "HWCAP2 " << bit;
  }
  for (const std::uint64_t word : words)
    EXPECT_EQ(edgeq::decode_arm(word, 0, 0).bits, word == asimd ? neon_features : 0u) << "alone " << word;
  for (const std::uint64_t word : words2)
    EXPECT_EQ(edgeq::decode_arm(0, word, 0).bits, 0u) << "alone " << word;
}

TEST(DecodeArm, LosesOneFeatureWithItsBit) {
  const auto lost = [](std::uint64_t hwcap, std::uint64_t hwcap2) {
    return edgeq::decode_arm(all_words & ~hwcap, all_words & ~hwcap2, 512).missing(arm_features);
  };
  EXPECT_EQ(lost(0, 0), 0u);
  EXPECT_EQ(lost(asimddp, 0), feature_mask(Feature::neon_dotprod));
  EXPECT_EQ(lost(0, i8mm), feature_mask(Feature::neon_i8mm));
  EXPECT_EQ(lost(0, bf16), feature_mask(Feature::neon_bf16));
  EXPECT_EQ(lost(0, sve_i8mm), feature_mask(Feature::sve_i8mm));
  EXPECT_EQ(lost(0, sve_bf16), feature_mask(Feature::sve_bf16));
  EXPECT_EQ(lost(sve, 0), arm_features & ~matrix_features);
  EXPECT_EQ(lost(asimd, 0), arm_features);
  EXPECT_EQ(edgeq::decode_arm(0, 0, 0), CpuFeatures{});
}

TEST(DecodeArm, ComparesTheVectorLength) {
  for (const std::size_t bits : {0u, 128u, 256u, 384u, 504u, 512u, 1024u, 2048u}) {
    EXPECT_EQ(edgeq::decode_arm(asimd | sve, 0, bits).has(Feature::sve_512), bits >= 512) << bits;
    EXPECT_EQ(edgeq::decode_arm(asimd, 0, bits).bits, neon_features) << bits;
  }
}

static_assert(edgeq::decode_arm(all_words, all_words, 2048).bits == arm_features, "a constant expression");

TEST(DecodeAppleArm, AsksForEachFeatureByItsName) {
  const auto decode = [](auto... names) {
    return edgeq::decode_apple_arm(
               [=]([[maybe_unused]] std::string_view name) { return ((name == names) || ... || false); })
        .bits;
  };
  EXPECT_EQ(decode(), neon_features);
  EXPECT_EQ(decode("hw.optional.arm.FEAT_DotProd"), dotprod_features);  // M1
  EXPECT_EQ(decode("hw.optional.arm.FEAT_I8MM"), neon_features | feature_mask(Feature::neon_i8mm));
  EXPECT_EQ(decode("hw.optional.arm.FEAT_BF16"), neon_features | feature_mask(Feature::neon_bf16));
  EXPECT_EQ(decode("hw.optional.arm.FEAT_DotProd", "hw.optional.arm.FEAT_I8MM", "hw.optional.arm.FEAT_BF16"),
            matrix_features);  // M2
  EXPECT_EQ(decode("hw.optional.arm.FEAT_SME"), neon_features);
}

TEST(CpuFeatures, WithoutTakesAwayWhatNeedsTheFeature) {
  const CpuFeatures all = decode(everything());
  EXPECT_EQ(all.without(Feature::avx512).bits, avx2_features);
  EXPECT_EQ(all.without(Feature::avx2).bits, 0u);
  EXPECT_EQ(all.without(Feature::avx512_vnni).missing(all.bits), feature_mask(Feature::avx512_vnni));
  EXPECT_EQ(all.without(Feature::avx512).withheld, all.bits & ~avx2_features);
  const CpuFeatures arm = edgeq::decode_arm(all_words, all_words, 512);
  EXPECT_EQ(arm.without(Feature::neon).bits, 0u);
  EXPECT_EQ(arm.without(Feature::sve).bits, matrix_features);
  EXPECT_EQ(arm.without(Feature::neon_i8mm).missing(arm.bits), feature_mask(Feature::neon_i8mm));
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
  for (unsigned bit = 0; bit < 15; ++bit) {
    const Feature feature = static_cast<Feature>(1u << bit);
    EXPECT_EQ(edgeq::parse_feature_list(edgeq::feature_name(feature)), 1u << bit);
  }
  EXPECT_EQ(edgeq::feature_list(feature_mask(Feature::sve, Feature::avx2)), "avx2, sve");
  EXPECT_EQ(edgeq::parse_feature_list(edgeq::feature_list(0x7FFF)), 0x7FFFu);
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
  const CpuFeatures features = CpuFeatures::detect();
  EXPECT_TRUE(features.has(Feature::neon));
#if defined(__linux__)
  const std::uint64_t hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  EXPECT_EQ(features.has(Feature::neon_dotprod), (hwcap & HWCAP_ASIMDDP) != 0);
  EXPECT_EQ(features.has(Feature::sve), (hwcap & HWCAP_SVE) != 0);
  EXPECT_EQ(features.has(Feature::neon_i8mm), (hwcap2 & HWCAP2_I8MM) != 0);
  EXPECT_EQ(features.has(Feature::neon_bf16), (hwcap2 & HWCAP2_BF16) != 0);
  EXPECT_EQ(features.has(Feature::sve_i8mm), (hwcap2 & HWCAP2_SVEI8MM) != 0);
  EXPECT_EQ(features.has(Feature::sve_bf16), (hwcap2 & HWCAP2_SVEBF16) != 0);
  std::uint64_t vector_bytes = 0;
  if (features.has(Feature::sve)) asm(".arch_extension sve\n cntb %0" : "=r"(vector_bytes));
  EXPECT_EQ(features.has(Feature::sve_512), vector_bytes >= 64);
#endif
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
