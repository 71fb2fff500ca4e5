// SPDX-License-Identifier: Apache-2.0
// No byte beyond any buffer is read or written: each one touches an inaccessible page. Addresses may be odd
// and rows 2^32 elements apart.
#include <gtest/gtest.h>

#include <memory>

#include "support/guarded_memory.hpp"
#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::Edge;
using test::Guarded;

constexpr ActivationRange range = {0.01f, -5};  // of static activations; others find their own
constexpr std::size_t shapes[][3] = {{3, 5, 33}, {1, 1, 1}, {1, 16, 64}, {9, 37, 130}, {2, 65, 7}};

// The expected y of an activation: the scalar model, or for floats what the same kernel makes of ordinary
// memory.
template <class F, class A>
std::vector<float> expected_y(const test::Weights<F>& w, const std::vector<float>& x, std::size_t m,
                              const std::vector<float>& bias, const AnyLinear& kernel) {
  if constexpr (A::is_integer)
    return test::integer_model<F, A>(w, x, m, bias, nullptr, range);
  else
    return test::run_layer(kernel, x.data(), m);
}

// Calls body(view) with a view of the same weights whose every array touches an inaccessible page.
template <class F>
auto with_guarded_view(const test::Weights<F>& weights, Edge edge, const auto& body) {
  auto view = weights.view();
  if constexpr (F::is_integer) {
    const Guarded<std::uint8_t> codes(view.codes, edge), zeros(view.zeros, edge);
    const Guarded<typename F::Scale> scales(view.scales, edge), minima(view.minima, edge);
    view.codes = codes.span();
    view.zeros = zeros.span();
    view.scales = scales.span();
    view.minima = minima.span();
    return body(view);
  } else if constexpr (F::header_bytes != 0) {
    const Guarded<std::uint8_t> codes(view.codes, edge);
    const Guarded<float> scales(view.scales, edge);
    view.codes = codes.span();
    view.scales = scales.span();
    return body(view);
  } else {
    const Guarded<typename F::Element> values(view.values, edge);
    view.values = values.span();
    return body(view);
  }
}

// Everything that the caller owns: codes, scales, minima, zeros, bias, x, y.
template <class F, class A, class T>
void expect_callers_memory_respected() {
  for (const auto& [m, n, k] : shapes)
    for (const Edge edge : {Edge::begin, Edge::end}) {
      const auto weights = test::random_weights<F>(n, k, 0, k);
      const auto bias = test::random_floats(n, 1);
      std::vector<T> x;
      std::vector<float> values;
      for (const float value : test::random_floats(m * k, 2)) {
        x.push_back(from_float<T>(value));
        values.push_back(to_float(x.back()));
      }
      const AnyLinear ordinary = *test::pack<F, A>(weights.view(), bias).with_range(range);
      const auto layer = with_guarded_view<F>(weights, edge, [&](const auto& view) {
        const Guarded<float> bias_copy(bias, edge);
        return AnyLinear::pack<F, ActivationList<A>>(view, bias_copy.span())->with_range(range);
      });
      ASSERT_TRUE(layer);

      const Guarded<T> x_copy(x, edge);
      x_copy.make_read_only();
      test::for_each_kernel(*layer, [&, m = m, n = n, k = k](const AnyLinear& kernel, const char* name) {
        const Guarded<T> y(std::vector<T>(m * n, test::unwritten_value<T>()), edge);
        Prepared prepared;
        ASSERT_TRUE(kernel.prepare(prepared, MatrixView<const T>(x_copy.data(), m, k)));
        kernel.run(prepared, MatrixView<T>(y.data(), m, n));
        const auto expected = expected_y<F, A>(weights, values, m, bias, *ordinary.only(name));
        for (std::size_t i = 0; i < m * n; ++i)
          ASSERT_EQ(test::value_of(y.data()[i]), test::nearest_value<T>(expected[i])) << "element " << i;
      });
    }
}

// Everything that the library owns, handed to the kernels as they are in the table: panels, prepared rows,
// the padded bias and the sums of columns.
template <class F, class A>
void expect_kernels_stay_inside() {
  const CpuFeatures cpu = CpuFeatures::detect();
  for (const auto& [m, n, k] : shapes)
    for (const Edge edge : {Edge::begin, Edge::end}) {
      const auto weights = test::random_weights<F>(n, k, 0, k);
      const auto bias = test::random_floats(n, 1), x = test::random_floats(m * k, 2);
      const AnyLinear layer = *test::pack<F, A>(weights.view(), bias).with_range(range);
      const PanelGeometry& g = layer.weight().geometry();
      const std::size_t columns = g.panels * panel_columns;
      const Guarded<std::uint8_t> panels(std::span(layer.weight().panels(), g.packed_bytes()), edge);
      const Guarded<float> padded_bias(std::span(layer.weight().bias(), columns), edge);
      const Guarded<float> sums(std::span(layer.weight().column_sums(), A::has_zero ? columns : 0), edge);
      panels.make_read_only();
      padded_bias.make_read_only();
      sums.make_read_only();
      for (const KernelEntry& kernel : KernelTable<F, A, AllIsas>::entries) {
        if (!cpu.has(kernel.features)) {
          test::announce_skipped(kernel.isa, "not on this processor");
          continue;
        }
        SCOPED_TRACE(kernel.isa);
        const PreparedLayout layout = kernel.layout(g);
        const std::size_t prepared_bytes = round_up(m, layout.row_multiple) * layout.row_bytes;
        const Guarded<std::byte> prepared(prepared_bytes, edge);
        std::memset(prepared.data(), 0x81, prepared_bytes);  // left-overs of an earlier call
        kernel.prepare({&g, layout, x.data(), FloatType::f32, k, range, prepared.data(), 0, m, m});
        prepared.make_read_only();
        std::vector<float> y(m * n, test::unwritten_value<float>());
        kernel.gemm({&g, layout, panels.data(), padded_bias.data(), sums.data(), prepared.data(), y.data(),
                     FloatType::f32, n, m, 0, g.panels});
        test::expect_same(y, expected_y<F, A>(weights, x, m, bias, *layer.only(kernel.isa)));
      }
    }
}

template <class Pair>
class GuardPages : public testing::Test {};
template <class F, class A>
struct Pair {
  using Format = F;
  using Activation = A;
};
using Pairs =
    testing::Types<Pair<Int4<32, BFloat16>, DynamicInt8>, Pair<Int4Zero<20, Float16>, DynamicInt16>,
                   Pair<Int4Min<48, float>, DynamicInt8PerGroup>, Pair<Int8<32, Float16>, DynamicInt16>,
                   Pair<Int8Min<per_channel, BFloat16>, DynamicInt16PerGroup>, Pair<Int8Zero<8, float>, F32>,
                   Pair<Int8Zero<20, Float16>, DynamicInt8Zero>, Pair<Int4Min<32, BFloat16>, StaticInt8>,
                   Pair<F32Weight, F32>, Pair<F16Weight, F32>, Pair<Bf16Weight, F32>, Pair<Bf16Weight, Bf16>,
                   Pair<Int4Zero<48, BFloat16>, Bf16>, Pair<Fp8Block<7, 5, Float8E5M2>, Bf16>,
                   Pair<Fp8Channel<>, F32>>;
TYPED_TEST_SUITE(GuardPages, Pairs, );

TYPED_TEST(GuardPages, AroundTheCallersMemory) {
  using F = typename TypeParam::Format;
  using A = typename TypeParam::Activation;
  expect_callers_memory_respected<F, A, float>();
  expect_callers_memory_respected<F, A, BFloat16>();
  expect_callers_memory_respected<F, A, Float16>();
}
TYPED_TEST(GuardPages, AroundTheKernelsMemory) {
  expect_kernels_stay_inside<typename TypeParam::Format, typename TypeParam::Activation>();
}

// Codes and zeros at odd addresses, x and y at every offset from a cache line that floats may have.
TEST(Addresses, NeedNoAlignment) {
  using F = Int4Zero<20, BFloat16>;
  constexpr std::size_t m = 3, n = 21, k = 61;
  auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2);
  const auto expected = test::integer_model<F, DynamicInt16>(weights, x, m, {});
  for (std::size_t offset = 0; offset < 16; ++offset) {
    std::vector<std::uint8_t> codes(offset), zeros(offset);
    codes.insert(codes.end(), weights.codes.begin(), weights.codes.end());
    zeros.insert(zeros.end(), weights.zeros.begin(), weights.zeros.end());
    auto view = weights.view();
    view.codes = std::span<const std::uint8_t>(codes).subspan(offset);
    view.zeros = std::span<const std::uint8_t>(zeros).subspan(offset);
    std::vector<float> shifted_x(offset), y(offset + m * n);
    shifted_x.insert(shifted_x.end(), x.begin(), x.end());
    test::for_each_kernel(test::pack<F, DynamicInt16>(view), [&](const AnyLinear& kernel, const char*) {
      Prepared prepared;
      ASSERT_TRUE(kernel.prepare(prepared, {shifted_x.data() + offset, m, k}));
      kernel.run(prepared, {y.data() + offset, m, n});
      test::expect_same({y.begin() + static_cast<std::ptrdiff_t>(offset), y.end()}, expected);
    });
  }
}

// Rows of x and y 2^32 + 5 elements apart, in pages that are never touched.
TEST(Addresses, StridesBeyond32Bits) {
  using F = Int8<32, BFloat16>;
  constexpr std::size_t m = 3, n = 21, k = 61, stride = (std::size_t{1} << 32) + 5;
  constexpr std::size_t bytes = ((m - 1) * stride + 64) * sizeof(float);
  const auto reserve = [] {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return std::unique_ptr<float, void (*)(float*)>(
        memory == MAP_FAILED ? nullptr : static_cast<float*>(memory), [](float* p) { munmap(p, bytes); });
  };
  const auto far_x = reserve(), far_y = reserve();
  if (far_x == nullptr || far_y == nullptr)
    GTEST_SKIP() << "no address space for " << bytes << " bytes twice";
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2);
  for (std::size_t i = 0; i < m; ++i)
    std::memcpy(far_x.get() + i * stride, x.data() + i * k, k * sizeof(float));
  const AnyLinear layer = test::pack<F, DynamicInt8, F32>(weights.view());
  for (const char* activation : {"int8", "f32"})
    test::for_each_kernel(*layer.with(activation), [&](const AnyLinear& kernel, const char*) {
      const auto expected = test::run_layer(kernel, x.data(), m);
      Prepared prepared;
      ASSERT_TRUE(kernel.prepare(prepared, {far_x.get(), m, k, stride}));
      kernel.run(prepared, {far_y.get(), m, n, stride});
      for (std::size_t i = 0; i < m; ++i) {
        const float* row = far_y.get() + i * stride;
        test::expect_same({row, row + n}, {&expected[i * n], &expected[i * n] + n});
      }
    });
}

}
