// SPDX-License-Identifier: Apache-2.0
// edgeq's side of compare_linear.py: a C interface, which ctypes loads, to layers packed from the codes that
// the other engines get too.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "edgeq/linear.hpp"
#include "edgeq/thread_pool.hpp"

namespace {

using namespace edgeq;

/// W [N, K] = scale * (code - 8) with a scale for each `group` of k, moved down by `shift` rows: row n is row
/// (n + N - shift) % N of what the caller has.
struct CodesAndScales {
  const std::uint8_t* codes;  ///< [N, K], one code of 4 bits per byte
  const float* scales;        ///< [N, K / group]
  std::size_t n, k, group, shift;
};

/// The same as a WeightSource of any format, so that every format holds equal weights, rounded if it must.
template <WeightFormat F>
struct Source {
  CodesAndScales from;

  static constexpr std::uint8_t zero = 8;

  WeightShape shape() const {
    return {from.n, from.k, F::group > 0 ? static_cast<std::size_t>(F::group) : from.k};
  }
  Status validate() const {
    if (from.k % from.group == 0 && (F::group <= 0 || from.group % static_cast<std::size_t>(F::group) == 0))
      return success();
    return Error{ErrorCode::invalid_argument, "edgeq_peer: K = " + std::to_string(from.k) +
                                                  " and groups of " + std::to_string(from.group) +
                                                  " do not divide into " + F::name()};
  }
  void read(std::size_t row, std::size_t r, typename F::Rows& rows) const noexcept {
    row = (row + from.n - from.shift % from.n) % from.n;
    const std::uint8_t* codes = from.codes + row * from.k;
    const float* scales = from.scales + row * (from.k / from.group);
    if constexpr (F::is_integer) {
      for (std::size_t i = 0; i < from.k; ++i) rows.codes[r * from.k + i] = codes[i];
      for (std::size_t g = 0; g < rows.groups; ++g) {
        const float scale = scales[g * rows.group / from.group];
        rows.scales[r * rows.groups + g] = from_float<typename F::Scale>(scale);
        rows.minima[r * rows.groups + g] = from_float<typename F::Scale>(-scale * zero);
        rows.zeros[r * rows.groups + g] = zero;
      }
    } else {
      for (std::size_t i = 0; i < from.k; ++i)
        rows.values[r * from.k + i] =
            from_float<typename F::Element>(scales[i / from.group] * static_cast<float>(codes[i] - zero));
    }
  }
};

/// A format by name, the activations it takes part with, and how to pack it.
struct Entry {
  std::string_view format, activations;
  Result<AnyLinear> (*pack)(const CodesAndScales& weights, const ThreadPool& pool);
};

template <WeightFormat F, ActivationPolicy... Activations>
Result<AnyLinear> pack(const CodesAndScales& weights, const ThreadPool& pool) {
  return AnyLinear::pack<F, ActivationList<Activations...>>(Source<F>{weights}, {}, pool);
}

// What is compared: one line each.
constexpr Entry entries[] = {
    {"int4_g128", "int8 int16 f32", pack<Int4<128>, DynamicInt8, DynamicInt16, F32>},
    {"int4_g32", "int8 int16 f32", pack<Int4<32>, DynamicInt8, DynamicInt16, F32>},
    {"bf16", "f32", pack<Bf16Weight, F32>},
};

thread_local std::string last_error;

AnyLinear* keep(Result<AnyLinear> layer) {
  if (layer) return new AnyLinear(std::move(*layer));
  last_error = layer.error().message;
  return nullptr;
}

}

#if defined(_WIN32)
#define EDGEQ_PEER __declspec(dllexport)
#else
#define EDGEQ_PEER __attribute__((visibility("default")))
#endif

extern "C" {

/// What went wrong in the last function of this thread that returned null or a number other than 0.
EDGEQ_PEER const char* edgeq_peer_error() {
  return last_error.c_str();
}

/// One line per format: its name, then its activations, separated by spaces.
EDGEQ_PEER const char* edgeq_peer_formats() {
  static const std::string lines = [] {
    std::string text;
    for (const Entry& entry : entries)
      text += std::string(entry.format) + " " + std::string(entry.activations) + "\n";
    return text;
  }();
  return lines.c_str();
}

/// Lives as long as the process.
EDGEQ_PEER ThreadPool* edgeq_peer_pool(std::size_t threads) {
  return new ThreadPool(threads);
}

/// Packs codes [N, K] (a byte each) with scales [N, K / group], rotated by `shift` rows. Null if it is
/// refused.
EDGEQ_PEER AnyLinear* edgeq_peer_pack(const char* format, std::size_t n, std::size_t k, std::size_t group,
                                      const std::uint8_t* codes, const float* scales, std::size_t shift,
                                      const ThreadPool* pool) {
  for (const Entry& entry : entries)
    if (entry.format == format) return keep(entry.pack({codes, scales, n, k, group, shift}, *pool));
  last_error = std::string("edgeq_peer: unknown format ") + format;
  return nullptr;
}
/// The same panels under another activation.
EDGEQ_PEER AnyLinear* edgeq_peer_with(const AnyLinear* layer, const char* activation) {
  return keep(layer->with(activation));
}
EDGEQ_PEER void edgeq_peer_free(AnyLinear* layer) {
  delete layer;
}

/// The instruction set of the kernel for M rows.
EDGEQ_PEER const char* edgeq_peer_isa(const AnyLinear* layer, std::size_t m) {
  thread_local std::string isa;
  isa = layer->plan(m).isa;
  return isa.c_str();
}

/// Prepares x [M, K] for and runs each of `count` layers in turn, the i-th into y + i * M * N.
EDGEQ_PEER int edgeq_peer_run(const AnyLinear* const* layers, std::size_t count, std::size_t m,
                              const float* x, float* y, const ThreadPool* pool) {
  thread_local Prepared prepared;
  for (const AnyLinear* layer : std::span(layers, count)) {
    if (Status status = layer->prepare(prepared, {x, m, layer->k()}, *pool); !status) {
      last_error = status.error().message;
      return 1;
    }
    layer->run(prepared, {y, m, layer->n()}, *pool);
    y += m * layer->n();
  }
  return 0;
}
}
