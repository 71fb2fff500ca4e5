// SPDX-License-Identifier: Apache-2.0
// A C interface, which ctypes loads, to the quantizers and to layers of what they make: for
// compare_quantizers.py.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "edgeq/format/ordered_source.hpp"
#include "edgeq/gptq.hpp"
#include "edgeq/linear.hpp"
#include "edgeq/quantize/round_to_nearest.hpp"
#include "edgeq/thread_pool.hpp"

namespace {

using namespace edgeq;
using Activations = ActivationList<DynamicInt8, DynamicInt16>;

struct Problem {
  MatrixView<const float> weights;
  std::span<const float> bias;
  const tool::Hessian* hessian;
  std::string_view method;
};

template <class F>
Result<AnyLinear> quantized(const Problem& problem, const ThreadPool& pool) {
  const Bias bias(problem.bias);
  const bool search = problem.method.ends_with("search");
  const auto by = search ? quantize::Search::squared_error : quantize::Search::extremes;
  if (problem.method.starts_with("rtn")) {
    const auto q = quantize::round_to_nearest<F>(problem.weights, by, 0, pool);
    return AnyLinear::pack<F, Activations>(q.view(), bias, pool);
  }
  const tool::GptqOptions options{0.01, problem.method.starts_with("gptq act-order"), by};
  const auto q = tool::gptq<F>(problem.weights, *problem.hessian, options, 0, pool);
  if (!q) return q.error();
  return AnyLinear::pack<F, Activations>(
      OrderedSource<typename F::View>{q->positions.view(), problem.weights.columns, q->order}, bias, pool);
}

thread_local std::string last_error;

}

#pragma GCC visibility push(default)
extern "C" {

const char* edgeq_error() {
  return last_error.c_str();
}

/// A Hessian of `rows` rows of x [rows, K].
void* edgeq_hessian(const float* x, std::size_t rows, std::size_t k) {
  auto hessian = std::make_unique<tool::Hessian>(k);
  hessian->add({x, rows, k});
  return hessian.release();
}
void edgeq_free_hessian(void* hessian) {
  delete static_cast<tool::Hessian*>(hessian);
}

/// A layer of W [N, K] and a bias [N], quantized; null, and edgeq_error, if that is refused.
void* edgeq_layer(const float* w, const float* bias, std::size_t n, std::size_t k, const char* format,
                  const char* method, const void* hessian) {
  const ThreadPool pool;
  const Problem problem{{w, n, k}, {bias, n}, static_cast<const tool::Hessian*>(hessian), method};
  const std::string_view name = format;
  Result<AnyLinear> layer = Error{ErrorCode::unsupported, "unknown format " + std::string(name)};
  if (name == "int4 g128 symmetric") layer = quantized<Int4<128, Float16>>(problem, pool);
  if (name == "int4 g128 asymmetric") layer = quantized<Int4Zero<128, Float16>>(problem, pool);
  if (name == "int4 g32 symmetric") layer = quantized<Int4<32, Float16>>(problem, pool);
  if (name == "int4 g32 asymmetric") layer = quantized<Int4Zero<32, Float16>>(problem, pool);
  if (!layer) {
    last_error = layer.error().message;
    return nullptr;
  }
  return new AnyLinear(std::move(*layer));
}
void edgeq_free_layer(void* layer) {
  delete static_cast<AnyLinear*>(layer);
}

/// y [M, N] = x [M, K] of the layer under an activation; false, and edgeq_error, if that is refused.
bool edgeq_run(const void* layer, const char* activation, const float* x, std::size_t m, float* y) {
  const auto active = static_cast<const AnyLinear*>(layer)->with(activation);
  Prepared prepared;
  Status status =
      active ? active->prepare(prepared, MatrixView<const float>(x, m, active->k())) : active.error();
  if (!status) {
    last_error = status.error().message;
    return false;
  }
  active->run(prepared, MatrixView<float>(y, m, active->n()));
  return true;
}

/// W [N, K] as the layer has it.
void edgeq_weights(const void* layer, float* w) {
  const auto& linear = *static_cast<const AnyLinear*>(layer);
  for (std::size_t n = 0; n < linear.n(); ++n) linear.dequantize_row(n, w + n * linear.k());
}
}
#pragma GCC visibility pop
