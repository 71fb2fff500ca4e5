// SPDX-License-Identifier: Apache-2.0
// The weight formats by name, each with the activations it is timed under. A format is one line of
// formats/*.cpp, a translation unit for each family, compiled once for all programs.
#pragma once
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "edgeq/format/ordered_source.hpp"
#include "edgeq/linear.hpp"
#include "edgeq/thread_pool.hpp"
#include "support/random_weights.hpp"

namespace bench {

/// What integer weights are multiplied by, what W8A8 checkpoints were quantized for, and what float weights
/// meet. Each costs the compiler some seconds for each format.
using IntegerFormatActivations = edgeq::ActivationList<edgeq::DynamicInt8, edgeq::DynamicInt8PerGroup,
                                                       edgeq::DynamicInt16, edgeq::Bf16, edgeq::F32>;
using QuantizedActivations = edgeq::ActivationList<edgeq::DynamicInt8, edgeq::DynamicInt16, edgeq::Bf16>;
using Int8ChannelActivations =
    edgeq::ActivationList<edgeq::DynamicInt8, edgeq::DynamicInt8Zero, edgeq::StaticInt8>;
using FloatFormatActivations = edgeq::ActivationList<edgeq::Bf16, edgeq::F32>;

/// A format's name on the command line, and how to pack a random W [N, K] in it.
struct ModelFormat {
  using Pack = edgeq::Result<edgeq::AnyLinear> (*)(std::size_t n, std::size_t k, std::uint64_t seed,
                                                   const edgeq::ThreadPool& pool);
  std::string_view name;
  Pack pack;
};

/// All layers are ready for static activations. The group matters to formats with dynamic_group only.
template <edgeq::WeightFormat F, class Activations, std::size_t group = 128>
edgeq::Result<edgeq::AnyLinear> pack_random(std::size_t n, std::size_t k, std::uint64_t seed,
                                            const edgeq::ThreadPool& pool) {
  auto layer = edgeq::AnyLinear::pack<F, Activations>(RandomWeights<F>{n, k, group, seed}, {}, pool);
  if (!layer) return layer;
  return layer->with_range({1.0f / 127.0f, 3});  // of the benches' x in [-1, 1), for static activations
}

/// The same with the columns of W in an order of their own.
template <edgeq::WeightFormat F, class Activations>
edgeq::Result<edgeq::AnyLinear> pack_shuffled(std::size_t n, std::size_t k, std::uint64_t seed,
                                              const edgeq::ThreadPool& pool) {
  return edgeq::AnyLinear::pack<F, Activations>(
      edgeq::OrderedSource<RandomWeights<F>>{{n, k, 0, seed}, k, shuffled_columns(k, seed)}, {}, pool);
}

// The families.
std::span<const ModelFormat> int4_formats();
std::span<const ModelFormat> int4_offset_formats();
std::span<const ModelFormat> int8_formats();
std::span<const ModelFormat> table_formats();
std::span<const ModelFormat> float_formats();

/// Calls visit(format) for each format of each family.
template <class Visit>
void for_each_format(Visit visit) {
  for (const auto family : {int4_formats, int4_offset_formats, int8_formats, table_formats, float_formats})
    for (const ModelFormat& format : family()) visit(format);
}

/// All names, separated by spaces.
inline std::string format_names() {
  std::string names;
  for_each_format([&](const ModelFormat& f) { names += (names.empty() ? "" : " ") + std::string(f.name); });
  return names;
}

/// The pack function of the format of this name; throws std::runtime_error if there is none.
inline ModelFormat::Pack pack_function(std::string_view name) {
  ModelFormat::Pack pack = nullptr;
  for_each_format([&](const ModelFormat& f) {
    if (f.name == name) pack = f.pack;
  });
  if (pack == nullptr)
    throw std::runtime_error("unknown format " + std::string(name) + " (known: " + format_names() + ")");
  return pack;
}

}
