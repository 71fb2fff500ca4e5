// SPDX-License-Identifier: Apache-2.0
// Which kernel runs on which machine and why not the others; what is refused, in words, before anything runs.
#include <gtest/gtest.h>

#include "support/float_grid.hpp"
#include "support/late_kernel.hpp"

namespace {

using namespace edgeq;

constexpr CpuFeatures everything = {~std::uint32_t{0}, 0};
constexpr CpuFeatures nothing = {};

using Format = Int4<128, BFloat16>;
AnyLinear layer_on(CpuFeatures cpu, std::size_t n = 16, std::size_t k = 128) {
  const test::Weights<Format> weights(n, k);
  return test::pack<Format, DynamicInt16, DynamicInt8, F32>(weights.view(), {}, cpu);
}
const Plan::Rejected* rejected(const Plan& plan, const std::string& isa) {
  for (const auto& r : plan.rejected)
    if (r.isa == isa) return &r;
  return nullptr;
}

// One test for each ISA, so that a report lists those that this machine did not try.
class Isa : public testing::TestWithParam<const char*> {};
TEST_P(Isa, RunsWhatItSaysItSupports) {
  const std::string isa = GetParam();
  const auto try_format = [&]<class F, class... Activations>(ActivationList<Activations...>) {
    for (const auto& shape : {std::array<std::size_t, 3>{1, 16, 64}, {1, 1, 1}}) {
      const std::size_t m = shape[0], n = shape[1], k = shape[2];
      const auto weights = test::random_weights<F>(n, k, 0, 1);
      const auto x = test::random_floats(m * k, 2);
      const AnyLinear layer = test::pack<F, Activations...>(weights.view());
      const auto check = [&]<class A>() {
        const auto kernel = layer.with(A::name)->only(isa);
        if (!kernel) return 0;
        EXPECT_EQ(kernel->plan(m).isa, isa);
        const auto y = test::run_layer(*kernel, x.data(), m);
        if constexpr (A::is_integer)
          test::expect_same(y, test::integer_model<F, A>(weights, x, m, {}));
        else
          test::expect_within_bound<A>(y, n, k, test::float_model<F, A>(weights, x, m, {}));
        return 1;
      };
      if ((check.template operator()<Activations>() + ...) == 0) return false;
    }
    return true;
  };
  using All = ActivationList<DynamicInt8, DynamicInt8Zero, DynamicInt16, F32, Bf16>;
  bool ran = try_format.template operator()<Int4<32>>(All{});
  ran |= try_format.template operator()<Int8Min<32>>(All{});
  ran |= try_format.template operator()<Bf16Weight>(ActivationList<F32, Bf16>{});
  ran |= try_format.template operator()<Fp8Block<>>(ActivationList<F32, Bf16>{});
  if (!ran) GTEST_SKIP() << isa << " has no kernel that runs on this machine: its kernels were not tested";
}
INSTANTIATE_TEST_SUITE_P(Kernels, Isa, testing::ValuesIn(test::isa_names),
                         [](const auto& info) { return std::string(info.param); });

TEST(Plan, TakesTheBestKernelThatTheProcessorHas) {
  EXPECT_EQ(layer_on(everything).plan(1).isa, "avx512_vnni");
  EXPECT_EQ(layer_on(everything.without(Feature::avx512_vnni)).plan(1).isa, "avx_vnni");
  EXPECT_EQ(layer_on(everything.without(Feature::avx512)).plan(1).isa, "avx_vnni");
  EXPECT_EQ(layer_on(everything.without(feature_mask(Feature::avx512, Feature::avx_vnni))).plan(1).isa,
            "avx2");
  const std::string last = layer_on(nothing).plan(1).isa;
  EXPECT_TRUE(last == "highway" || last == "generic") << last;
}

void expect_reason(const Plan& plan, const std::string& isa, const char* words) {
  ASSERT_NE(rejected(plan, isa), nullptr);
  EXPECT_NE(rejected(plan, isa)->reason.find(words), std::string::npos) << rejected(plan, isa)->reason;
}
TEST(Plan, SaysWhyNotTheOthers) {
  // What the processor has but may not use is withheld; what it has not, it lacks.
  const CpuFeatures without = everything.without(Feature::avx512), old = {without.bits, 0};
  const CpuFeatures half = {without.bits, feature_mask(Feature::avx512)};
  expect_reason(layer_on(without).plan(4), "avx512_vnni", "avx512, avx512_vnni is withheld, by");
  expect_reason(layer_on(old).plan(4), "avx512_vnni", "this processor lacks avx512, avx512_vnni");
  expect_reason(layer_on(half).plan(4), "avx512_vnni", "this processor lacks avx512_vnni");
  const Plan plan = layer_on(without).plan(4);
  expect_reason(plan, "generic", "behind avx_vnni");
  EXPECT_EQ(rejected(plan, "avx_vnni"), nullptr);
}

// A kernel that pays from four rows on is taken from there, and everywhere by a layer of that one only.
TEST(Plan, TakesAKernelWhereItPays) {
  using F = Int4Zero<32, Float16>;
  constexpr std::size_t n = 37, k = 77;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(9 * k, 2);
  const auto expected = test::integer_model<F, DynamicInt16>(weights, x, 9, {});
  const auto layer = Linear<F, DynamicInt16, IsaList<test::isa::late, isa::generic>>::pack(weights.view());
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->plan(3).isa, "generic");
  expect_reason(layer->plan(3), "late", "pays from M = 4");
  EXPECT_EQ(layer->plan(4).isa, "late");
  expect_reason(layer->plan(4), "generic", "behind late");
  const auto late = layer->only("late");
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->plan(1).isa, "late");
  for (const std::size_t m : {1u, 3u, 4u, 9u}) {
    test::expect_same(test::run_layer(*layer, x.data(), m), m, n, expected, n);
    test::expect_same(test::run_layer(*late, x.data(), m), m, n, expected, n);
  }
}

TEST(Plan, CountsWhatItReads) {
  // 16 columns x 128 codes of 4 bits; 16 scales of 16 bits, with room for the next group's in the header.
  const AnyLinear layer = layer_on(everything);
  const Plan plan = layer.plan(3);
  EXPECT_EQ(plan.m, 3u);
  EXPECT_EQ(plan.n, 16u);
  EXPECT_EQ(plan.k, 128u);
  EXPECT_EQ(plan.weight_bytes, 1024u + 64);
  EXPECT_EQ(plan.bits_per_weight, 4.25);
  EXPECT_EQ(layer_on(everything, 16, 256).plan(1).bits_per_weight, 4.125);
  EXPECT_EQ(plan.activation, "int16");
  EXPECT_EQ(layer.with("int8")->plan(1).activation, "int8");
  const std::string text = plan.to_string();
  for (const char* words : {"int4 sym g128 bf16", "int16", "[3, 128] -> [3, 16]", "avx512_vnni",
                            "1088 weight bytes", "same bits", "not avx2: "})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in: " << text;
  EXPECT_NE(layer.with("f32")->plan(1).numerics, plan.numerics);
}

// Fewer features, another kernel, the same bits.
TEST(Plan, MaskedProcessorGivesTheSameBits) {
  using F = Int4Zero<32, Float16>;
  constexpr std::size_t m = 5, n = 37, k = 77;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2);
  const auto expected = test::integer_model<F, DynamicInt16>(weights, x, m, {});
  CpuFeatures cpu = CpuFeatures::detect();
  for (const Feature feature :
       {Feature::avx512_bf16, Feature::avx512_vnni, Feature::avx_vnni, Feature::avx512, Feature::avx2}) {
    cpu = cpu.without(feature);
    const auto layer = Linear<F>::pack(weights.view(), {}, InlineExecutor{}, cpu);
    ASSERT_TRUE(layer) << layer.error().message;
    SCOPED_TRACE(layer->plan(m).isa);
    test::expect_same(test::run_layer(*layer, x.data(), m), expected);
  }
}

void expect_refused(const auto& result, ErrorCode code, std::initializer_list<const char*> words) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code);
  for (const char* word : words)
    EXPECT_NE(result.error().message.find(word), std::string::npos)
        << "no '" << word << "' in: " << result.error().message;
}

TEST(Refusal, ProcessorWithoutAnyListedKernel) {
  const test::Weights<Format> weights(16, 128);
  const auto layer = Linear<Format, DynamicInt16, IsaList<isa::avx512_vnni, isa::avx2>>::pack(
      weights.view(), {}, InlineExecutor{}, nothing);
  expect_refused(layer, ErrorCode::unsupported,
                 {"int4 sym g128 bf16", "lacks avx512, avx512_vnni", "lacks avx2"});
}

TEST(Refusal, OnlyAndWithNameWhatIsMissing) {
  const AnyLinear layer = layer_on(everything);
  expect_refused(layer.only("sse9"), ErrorCode::unsupported, {"sse9", "int4 sym g128 bf16"});
  expect_refused(layer.with("int16/group"), ErrorCode::unsupported, {"int16/group", "int4 sym g128 bf16"});
  expect_refused(layer_on(nothing).only("avx2"), ErrorCode::unsupported, {"lacks avx2"});
  expect_refused(layer_on(CpuFeatures::detect().without(Feature::avx2)).only("avx2"), ErrorCode::unsupported,
                 {"avx2"});
  ASSERT_TRUE(layer.only("avx2"));
  EXPECT_EQ(layer.only("avx2")->plan(1).isa, "avx2");
  EXPECT_EQ(layer.only("avx2")->plan(1).rejected.size(), 0u);
}

TEST(Refusal, SpansThatDoNotFollowFromTheShape) {
  using F = Int4Zero<32, BFloat16>;
  using M = Int8Min<32, BFloat16>;
  const test::Weights<F> good(3, 65);  // 33 bytes a row, 3 groups
  const test::Weights<M> minima(3, 65);
  const auto refuse = [](const auto& view, std::initializer_list<const char*> words) {
    using Any = std::conditional_t<std::is_same_v<decltype(view), const F::View&>, F, M>;
    expect_refused(Linear<Any>::pack(view), ErrorCode::invalid_argument, words);
  };
  ASSERT_TRUE(Linear<F>::pack(good.view()));
  auto view = good.view();
  view.codes = view.codes.first(98);
  refuse(view, {"codes", "98", "99"});
  view = good.view();
  view.scales = view.scales.first(8);
  refuse(view, {"scales", "8", "9"});
  view = good.view();
  view.zeros = {};
  refuse(view, {"zeros", "0", "9"});
  view = good.view();
  view.k = 64;
  refuse(view, {"codes", "99", "96"});
  auto with_minima = minima.view();
  with_minima.minima = with_minima.minima.first(1);
  refuse(with_minima, {"minima", "1", "9"});

  const std::vector<float> bias(4), values(11);
  expect_refused(Linear<F>::pack(good.view(), std::span<const float>(bias)), ErrorCode::invalid_argument,
                 {"bias", "4", "N is 3"});
  expect_refused(Linear<F32Weight, F32>::pack({3, 4, values}), ErrorCode::invalid_argument, {"11", "12"});
  test::Weights<Int4<dynamic_group>> dynamic(3, 64, 32);
  auto no_group = dynamic.view();
  no_group.dynamic = 0;
  expect_refused(Linear<Int4<dynamic_group>>::pack(no_group), ErrorCode::invalid_argument,
                 {"group size is 0"});
}

TEST(Refusal, ActivationsOfAnotherWidth) {
  const std::vector<float> x(127);
  Prepared prepared;
  expect_refused(layer_on(everything).prepare(prepared, {x.data(), 1, 127}), ErrorCode::invalid_argument,
                 {"127", "K is 128"});
}

// Static activations need a range, which must be a positive finite scale and a zero of one byte.
TEST(Refusal, StaticActivationsWithoutARange) {
  using F = Int8<32>;
  const AnyLinear layer = test::pack<F, StaticInt8, DynamicInt8Zero>(test::Weights<F>(3, 32).view());
  const std::vector<float> x(32);
  Prepared prepared;
  expect_refused(layer.prepare(prepared, {x.data(), 1, 32}), ErrorCode::invalid_argument,
                 {"static", "no range", "with_range"});
  const std::vector<BFloat16> half(32);
  expect_refused(layer.prepare(prepared, MatrixView<const BFloat16>(half.data(), 1, 32)),
                 ErrorCode::invalid_argument, {"no range"});
  EXPECT_TRUE(layer.with("int8/zero")->prepare(prepared, {x.data(), 1, 32})) << "finds its own";
  const auto ranged = layer.with_range({0.5f, -128});
  ASSERT_TRUE(ranged) << ranged.error().message;
  EXPECT_TRUE(ranged->prepare(prepared, {x.data(), 1, 32}));
  EXPECT_TRUE(ranged->with("int8/zero")->with("int8/static")->prepare(prepared, {x.data(), 1, 32}))
      << "the range belongs to the layer, whatever its activation";
  EXPECT_FALSE(layer.prepare(prepared, {x.data(), 1, 32})) << "the first layer has none still";
}
TEST(Refusal, RangesThatAreNone) {
  const AnyLinear layer = test::pack<Int8<32>, StaticInt8>(test::Weights<Int8<32>>(3, 32).view());
  constexpr float largest = std::numeric_limits<float>::max();
  for (const float scale : {0.0f, -0.0f, -1.0f, HUGE_VALF, -HUGE_VALF, std::nanf("")})
    expect_refused(layer.with_range({scale, 0}), ErrorCode::invalid_argument, {"range", "scale", "positive"});
  for (const std::int32_t zero : {-129, 128, 1 << 30, -(1 << 30)})
    expect_refused(layer.with_range({1.0f, zero}), ErrorCode::invalid_argument,
                   {"zero", std::to_string(zero).c_str(), "-128..127"});
  for (const float scale : {largest, 1.0f, 0x1p-149f})
    for (const std::int32_t zero : {-128, 0, 127}) EXPECT_TRUE(layer.with_range({scale, zero}));
}

TEST(Refusal, SizesBeyondMemory) {
  expect_refused(Linear<Int8<32>>::pack({std::size_t{1} << 62, 4, {}, {}}), ErrorCode::too_large, {"N x K"});
  // A source needs no memory of its own; its panels would need 2^46 bytes or more, and 2^80.
  struct Rows {
    std::size_t n, k;
    WeightShape shape() const { return {n, k, 128}; }
    Status validate() const { return success(); }
    void read(std::size_t, std::size_t, Format::Rows&) const noexcept {}
  };
  constexpr std::size_t tera = std::size_t{1} << 40;
  expect_refused(Linear<Format>::pack_from(Rows{tera, tera}), ErrorCode::too_large,
                 {"1099511627776", "2^47"});
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator ends the program instead
  expect_refused(Linear<Format>::pack_from(Rows{tera / 32, 4096}), ErrorCode::too_large, {"no memory"});
#endif
}

}
