// SPDX-License-Identifier: Apache-2.0
// One linear of integers and small writers that put it into the layouts of checkpoints, for tests that
// compare importers with each other.
#pragma once
#include <random>

#include "edgeq/import/awq.hpp"
#include "edgeq/import/compressed_tensors.hpp"
#include "edgeq/import/gptq.hpp"
#include "edgeq/import/matmul_nbits.hpp"
#include "edgeq/import/tinygemm.hpp"
#include "import/checkpoint_tensors.hpp"

namespace edgeq::test {

/// W[n, k] = scale * (code - zero) of the group of k; scales are numbers of binary16.
struct IntegerLinear {
  std::size_t n, k, group;
  int bits;
  bool symmetric;                           ///< all zeros are 2^(bits - 1)
  std::vector<std::uint32_t> codes;         // [N, K]
  std::vector<std::uint32_t> zeros;         // [N, K / group]
  std::vector<float> scales;                // [N, K / group]
  std::vector<std::int32_t> group_of = {};  // [K], of act-order; empty: k / group

  std::size_t groups() const { return k / group; }
  std::size_t group_at(std::size_t column) const {
    return group_of.empty() ? column / group : static_cast<std::size_t>(group_of[column]);
  }

  /// Random codes, zeros of the whole range, and scales of 8 significant bits, so that scale * (8 - zero) is
  /// a number of binary16.
  static IntegerLinear random(std::size_t n, std::size_t k, std::size_t group, int bits, bool symmetric) {
    IntegerLinear linear{n, k, group, bits, symmetric, {}, {}, {}};
    std::mt19937 engine(static_cast<unsigned>(bits) * 2 + symmetric);
    const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
    const std::uint32_t mask = (1u << bits) - 1u;
    for (std::size_t i = 0; i < n * k; ++i) linear.codes.push_back(random() & mask);
    for (std::size_t i = 0; i < n * linear.groups(); ++i) {
      linear.zeros.push_back(symmetric ? 1u << (bits - 1) : random() & mask);
      const auto exponent = 8 + random() % 8, fraction = (random() & 127u) << 3;
      linear.scales.push_back(Float16{static_cast<std::uint16_t>(exponent << 10 | fraction)}.to_float());
    }
    return linear;
  }

  /// The value by the definition, in the arithmetic of all layouts.
  float value(std::size_t row, std::size_t column) const {
    const std::size_t i = row * groups() + group_at(column);
    return scales[i] *
           static_cast<float>(static_cast<int>(codes[row * k + column]) - static_cast<int>(zeros[i]));
  }
  std::vector<float> values() const {
    std::vector<float> result;
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < k; ++column) result.push_back(value(row, column));
    return result;
  }
};

/// `count` fields, field(i) each, LSB first into words: dense, or as many as fit whole into a word.
template <class Field>
std::vector<std::uint32_t> pack_words(std::size_t count, int bits, bool dense, const Field& field) {
  const auto width = static_cast<std::size_t>(bits), per_word = 32 / width;
  std::vector<std::uint32_t> words(dense ? (count * width + 31) / 32 : (count + per_word - 1) / per_word);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = dense ? i * width : i / per_word * 32 + i % per_word * width;
    const std::uint64_t bits_at = std::uint64_t{field(i)} << at % 32;
    words[at / 32] |= static_cast<std::uint32_t>(bits_at);
    if (bits_at >> 32 != 0) words[at / 32 + 1] |= static_cast<std::uint32_t>(bits_at >> 32);
  }
  return words;
}

/// `rows` lines of words, side by side as the columns of a matrix [words, lines].
template <class Line>
std::vector<std::uint32_t> stand_side_by_side(std::size_t lines, const Line& line) {
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < lines; ++i) {
    const auto column = line(i);
    words.resize(column.size() * lines);
    for (std::size_t w = 0; w < column.size(); ++w) words[w * lines + i] = column[w];
  }
  return words;
}

inline gptq::Tensors write_gptq(TensorStore& store, const IntegerLinear& w, bool second_version) {
  const auto qweight = stand_side_by_side(w.n, [&](std::size_t n) {
    return pack_words(w.k, w.bits, true, [&](std::size_t k) { return w.codes[n * w.k + k]; });
  });
  std::vector<std::uint32_t> qzeros;
  std::vector<float> scales;
  for (std::size_t g = 0; g < w.groups(); ++g) {
    const std::uint32_t mask = (1u << w.bits) - 1u;
    const bool by_field = w.bits == 3 && !second_version;
    auto row = pack_words(w.n, w.bits, true, [&](std::size_t n) {
      return (w.zeros[n * w.groups() + g] - (by_field ? 1u : 0u)) & mask;
    });
    if (!second_version && !by_field)
      for (std::uint32_t& word : row) word -= 0xFFFFFFFFu / mask;  // 1 from every field, with borrows
    qzeros.insert(qzeros.end(), row.begin(), row.end());
    for (std::size_t n = 0; n < w.n; ++n) scales.push_back(w.scales[n * w.groups() + g]);
  }
  gptq::Tensors tensors{store.words("layer.qweight", {qweight.size() / w.n, w.n}, qweight),
                        store.words("layer.qzeros", {w.groups(), qzeros.size() / w.groups()}, qzeros),
                        store.floats("layer.scales", ElementType::f16, {w.groups(), w.n}, scales)};
  if (!w.group_of.empty()) tensors.g_idx = store.integers("layer.g_idx", w.group_of);
  return tensors;
}

inline awq::Tensors write_awq(TensorStore& store, const IntegerLinear& w) {
  constexpr std::size_t column_of_nibble[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto interleaved = [&](const auto& field) {
    return pack_words(w.n, 4, true,
                      [&](std::size_t i) { return field(i / 8 * 8 + column_of_nibble[i % 8]); });
  };
  std::vector<std::uint32_t> qweight, qzeros;
  std::vector<float> scales;
  for (std::size_t k = 0; k < w.k; ++k) {
    const auto row = interleaved([&](std::size_t n) { return w.codes[n * w.k + k]; });
    qweight.insert(qweight.end(), row.begin(), row.end());
  }
  for (std::size_t g = 0; g < w.groups(); ++g) {
    const auto row = interleaved([&](std::size_t n) { return w.zeros[n * w.groups() + g]; });
    qzeros.insert(qzeros.end(), row.begin(), row.end());
    for (std::size_t n = 0; n < w.n; ++n) scales.push_back(w.scales[n * w.groups() + g]);
  }
  return {store.words("layer.qweight", {w.k, w.n / 8}, qweight),
          store.words("layer.qzeros", {w.groups(), w.n / 8}, qzeros),
          store.floats("layer.scales", ElementType::f16, {w.groups(), w.n}, scales)};
}

inline compressed_tensors::Tensors write_compressed_tensors(TensorStore& store, const IntegerLinear& w,
                                                            bool dense) {
  std::vector<std::uint32_t> packed;
  for (std::size_t n = 0; n < w.n; ++n) {
    const auto row = pack_words(w.k, w.bits, dense, [&](std::size_t k) { return w.codes[n * w.k + k]; });
    packed.insert(packed.end(), row.begin(), row.end());
  }
  compressed_tensors::Tensors tensors{
      store.words("layer.weight_packed", {w.n, packed.size() / w.n}, packed),
      store.floats("layer.weight_scale", ElementType::f16, {w.n, w.groups()}, w.scales)};
  tensors.weight_shape =
      store.add("layer.weight_shape", ElementType::i64, {2},
                std::vector<std::int64_t>{static_cast<std::int64_t>(w.n), static_cast<std::int64_t>(w.k)});
  if (!w.symmetric) {
    const auto zeros = stand_side_by_side(w.groups(), [&](std::size_t g) {
      return pack_words(w.n, w.bits, dense, [&](std::size_t n) { return w.zeros[n * w.groups() + g]; });
    });
    tensors.weight_zero_point =
        store.words("layer.weight_zero_point", {zeros.size() / w.groups(), w.groups()}, zeros);
  }
  if (!w.group_of.empty()) tensors.weight_g_idx = store.integers("layer.weight_g_idx", w.group_of);
  return tensors;
}

inline tinygemm::Tensors write_tinygemm(TensorStore& store, const IntegerLinear& w) {
  std::vector<float> pairs;
  for (std::size_t g = 0; g < w.groups(); ++g)
    for (std::size_t n = 0; n < w.n; ++n) {
      const std::size_t i = n * w.groups() + g;
      pairs.push_back(w.scales[i]);
      pairs.push_back(w.scales[i] * static_cast<float>(8 - static_cast<int>(w.zeros[i])));
    }
  return {store.add("codes", ElementType::i32, {w.n, w.k}, w.codes),
          store.floats("scales_and_zeros", ElementType::f16, {w.groups(), w.n, 2}, pairs)};
}

inline matmul_nbits::Tensors write_matmul_nbits(TensorStore& store, const IntegerLinear& w) {
  const auto as_bytes = [](const std::vector<std::uint32_t>& words, std::size_t count) {
    std::vector<std::uint8_t> bytes(words.size() * 4);
    copy_little_endian<std::uint32_t>(bytes.data(), words.data(), words.size());
    bytes.resize(count);
    return bytes;
  };
  const auto width = static_cast<std::size_t>(w.bits), zero_bytes = (w.groups() * width + 7) / 8;
  std::vector<std::uint8_t> b, zeros;
  for (std::size_t n = 0; n < w.n; ++n) {
    const auto codes = pack_words(w.k, w.bits, true, [&](std::size_t k) { return w.codes[n * w.k + k]; });
    const auto row = as_bytes(codes, w.k * width / 8);
    b.insert(b.end(), row.begin(), row.end());
    const auto fields =
        pack_words(w.groups(), w.bits, true, [&](std::size_t g) { return w.zeros[n * w.groups() + g]; });
    const auto zero_row = as_bytes(fields, zero_bytes);
    zeros.insert(zeros.end(), zero_row.begin(), zero_row.end());
  }
  matmul_nbits::Tensors tensors{store.bytes("b", {w.n, w.groups(), w.group * width / 8}, b),
                                store.floats("scales", ElementType::f16, {w.n * w.groups()}, w.scales)};
  if (!w.symmetric) tensors.zero_points = store.bytes("zero_points", {zeros.size()}, zeros);
  if (!w.group_of.empty()) tensors.g_idx = store.integers("g_idx", w.group_of);
  return tensors;
}

/// Calls check(layout, visit), visit(f) being visit_weights of the linear in that layout, for each layout
/// that can hold it.
template <class Check>
void for_each_layout(const IntegerLinear& w, const Check& check) {
  TensorStore store;
  const auto group = static_cast<std::int64_t>(w.group);
  for (const bool second : {false, true}) {
    if (w.bits != 2 && w.bits != 3 && w.bits != 4 && w.bits != 8) continue;
    const gptq::Tensors tensors = write_gptq(store, w, second);
    const gptq::Parameters parameters{.bits = w.bits,
                                      .group_size = group,
                                      .sym = w.symmetric,
                                      .desc_act = !w.group_of.empty(),
                                      .checkpoint_format = second ? "gptq_v2" : "gptq"};
    check(second ? "gptq_v2" : "gptq",
          [&](const auto& f) { return gptq::visit_weights(tensors, parameters, f); });
  }
  for (const bool dense : {true, false}) {
    const auto tensors = write_compressed_tensors(store, w, dense);
    const compressed_tensors::Parameters parameters{.bits = w.bits,
                                                    .symmetric = w.symmetric,
                                                    .group_size = group,
                                                    .version = dense ? "0.18.0" : "0.17.0"};
    check(dense ? "compressed-tensors, dense" : "compressed-tensors, padded",
          [&](const auto& f) { return compressed_tensors::visit_weights(tensors, parameters, f); });
  }
  if (w.bits >= 2) {
    const auto tensors = write_matmul_nbits(store, w);
    check("MatMulNBits", [&](const auto& f) {
      return matmul_nbits::visit_weights(tensors, {w.n, w.k, w.bits, w.group}, f);
    });
  }
  if (w.bits != 4 || !w.group_of.empty()) return;
  const auto awq_tensors = write_awq(store, w);
  check("awq", [&](const auto& f) { return awq::visit_weights(awq_tensors, {.group_size = group}, f); });
  const auto tinygemm_tensors = write_tinygemm(store, w);
  check("tinygemm", [&](const auto& f) { return tinygemm::visit_weights(tinygemm_tensors, {group}, f); });
}

}
