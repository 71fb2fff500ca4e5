// SPDX-License-Identifier: Apache-2.0
// Codes, scales and zeros in the order of each form.
#include "checkpoint_form.hpp"

#include <algorithm>
#include <cstring>

namespace tool {

using edgeq::ElementType;
using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Status;
using edgeq::ThreadPool;

namespace {

using Bytes = std::vector<std::byte>;

/// Unsigned fields of 4 or 8 bits in words of 32, the first in the lowest bits.
struct Fields {
  int bits;
  std::vector<std::uint32_t> words;

  std::size_t per_word() const noexcept { return 32 / static_cast<std::size_t>(bits); }
  /// Field i of the line that begins at `first` and has a word every `step`; it must still be 0.
  void put(std::size_t first, std::size_t step, std::size_t i, std::uint8_t field) noexcept {
    words[first + i / per_word() * step] |= std::uint32_t{field}
                                            << i % per_word() * static_cast<unsigned>(bits);
  }
  Bytes bytes() const {
    const auto view = std::as_bytes(std::span(words));
    return {view.begin(), view.end()};
  }
};

/// Calls function(first, rows, parts) for blocks of sixteen rows, whose fields fill whole words.
template <class Function>
void for_each_block(const AnyWeights& weights, std::size_t n, const ThreadPool& threads,
                    const Function& function) {
  constexpr std::size_t block = edgeq::panel_columns;
  threads.run(edgeq::divide_up(n, block), [&](std::size_t task) {
    PartRows parts;
    const std::size_t first = task * block, rows = std::min(block, n - first);
    weights.read_parts(first, rows, parts);
    function(first, rows, parts);
  });
}

/// The codes, put(row, column, code) each.
template <class Put>
void put_codes(const LinearDescription& linear, const AnyWeights& weights, const ThreadPool& threads,
               const Put& put) {
  const edgeq::WeightShape shape = weights.shape();
  for_each_block(weights, linear.n, threads, [&](std::size_t first, std::size_t rows, const PartRows& parts) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < linear.k; ++i)
        put(first + r, shape.order.empty() ? i : shape.order[i], parts.codes[r * linear.k + i]);
  });
}

/// The zeros, put(row, group, zero) each.
template <class Put>
void put_zeros(const LinearDescription& linear, const AnyWeights& weights, const ThreadPool& threads,
               const Put& put) {
  const auto midpoint = static_cast<std::uint8_t>(linear.parts.midpoint());
  for_each_block(weights, linear.n, threads, [&](std::size_t first, std::size_t rows, const PartRows& parts) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t g = 0; g < linear.groups(); ++g)
        put(first + r, g, linear.parts.has_zeros ? parts.zeros[r * linear.groups() + g] : midpoint);
  });
}

/// The scales as they are stored: of row n and group g at place(n, g).
template <class Place>
Bytes scales(const LinearDescription& linear, const AnyWeights& weights, const ThreadPool& threads,
             const Place& place) {
  const std::size_t size = element_info(linear.parts.type).bits / 8;
  Bytes bytes(linear.n * linear.groups() * size);
  for_each_block(weights, linear.n, threads, [&](std::size_t first, std::size_t rows, const PartRows& parts) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t g = 0; g < linear.groups(); ++g)
        std::memcpy(&bytes[place(first + r, g) * size], &parts.scales[(r * linear.groups() + g) * size],
                    size);
  });
  return bytes;
}

Bytes group_index(const LinearDescription& linear, const AnyWeights& weights) {
  const edgeq::WeightShape shape = weights.shape();
  std::vector<std::int32_t> index(linear.k);
  for (std::size_t i = 0; i < linear.k; ++i)
    index[shape.order.empty() ? i : shape.order[i]] = static_cast<std::int32_t>(i / linear.group);
  const auto view = std::as_bytes(std::span(index));
  return {view.begin(), view.end()};
}

std::vector<FormTensor> gptq_tensors(const LinearDescription& l, const AnyWeights& w) {
  const std::size_t n = l.n, groups = l.groups();
  const Fields empty{l.parts.bits, {}};
  const std::size_t code_words = edgeq::divide_up(l.k, empty.per_word()),
                    zero_words = edgeq::divide_up(n, empty.per_word());
  return {{{l.name + ".qweight", ElementType::i32, {code_words, n}},
           [=, &w](const ThreadPool& threads) {
             Fields fields{l.parts.bits, std::vector<std::uint32_t>(code_words * n)};
             put_codes(l, w, threads, [&](std::size_t row, std::size_t column, std::uint8_t code) {
               fields.put(row, n, column, code);
             });
             return fields.bytes();
           }},
          {{l.name + ".qzeros", ElementType::i32, {groups, zero_words}},
           [=, &w](const ThreadPool& threads) {
             Fields fields{l.parts.bits, std::vector<std::uint32_t>(groups * zero_words)};
             put_zeros(l, w, threads, [&](std::size_t row, std::size_t group, std::uint8_t zero) {
               fields.put(group * zero_words, 1, row, zero);
             });
             return fields.bytes();
           }},
          {{l.name + ".scales", l.parts.type, {groups, n}},
           [=, &w](const ThreadPool& threads) {
             return scales(l, w, threads,
                           [&](std::size_t row, std::size_t group) { return group * n + row; });
           }},
          {{l.name + ".g_idx", ElementType::i32, {l.k}},
           [=, &w](const ThreadPool&) { return group_index(l, w); }}};
}

std::vector<FormTensor> pack_quantized_tensors(const LinearDescription& l, const AnyWeights& w,
                                               bool has_zeros) {
  const std::size_t n = l.n, groups = l.groups();
  const Fields empty{l.parts.bits, {}};
  const std::size_t code_words = edgeq::divide_up(l.k, empty.per_word()),
                    zero_words = edgeq::divide_up(n, empty.per_word());
  std::vector<FormTensor> tensors = {
      {{l.name + ".weight_packed", ElementType::i32, {n, code_words}},
       [=, &w](const ThreadPool& threads) {
         Fields fields{l.parts.bits, std::vector<std::uint32_t>(n * code_words)};
         put_codes(l, w, threads, [&](std::size_t row, std::size_t column, std::uint8_t code) {
           fields.put(row * code_words, 1, column, code);
         });
         return fields.bytes();
       }},
      {{l.name + ".weight_scale", l.parts.type, {n, groups}},
       [=, &w](const ThreadPool& threads) {
         return scales(l, w, threads,
                       [&](std::size_t row, std::size_t group) { return row * groups + group; });
       }},
      {{l.name + ".weight_shape", ElementType::i64, {2}}, [=](const ThreadPool&) {
         const std::int64_t shape[2] = {static_cast<std::int64_t>(l.n), static_cast<std::int64_t>(l.k)};
         const auto view = std::as_bytes(std::span(shape));
         return Bytes(view.begin(), view.end());
       }}};
  if (has_zeros)
    tensors.push_back({{l.name + ".weight_zero_point", ElementType::i32, {zero_words, groups}},
                       [=, &w](const ThreadPool& threads) {
                         Fields fields{l.parts.bits, std::vector<std::uint32_t>(zero_words * groups)};
                         put_zeros(l, w, threads, [&](std::size_t row, std::size_t group, std::uint8_t zero) {
                           fields.put(group, groups, row, zero);
                         });
                         return fields.bytes();
                       }});
  if (l.is_ordered)
    tensors.push_back({{l.name + ".weight_g_idx", ElementType::i32, {l.k}},
                       [=, &w](const ThreadPool&) { return group_index(l, w); }});
  return tensors;
}

std::vector<FormTensor> float8_tensors(const LinearDescription& l, const AnyWeights& w, bool in_blocks) {
  const std::size_t blocks = edgeq::divide_up(l.n, l.parts.block_rows), groups = l.groups();
  const bool is_single = !in_blocks && blocks <= 1 && groups <= 1;
  const std::vector<std::size_t> shape =
      is_single ? std::vector{blocks * groups} : std::vector{blocks, groups};
  return {{{l.name + ".weight", l.parts.type, {l.n, l.k}},
           [=, &w](const ThreadPool& threads) {
             Bytes bytes(l.n * l.k);
             put_codes(l, w, threads, [&](std::size_t row, std::size_t column, std::uint8_t code) {
               bytes[row * l.k + column] = std::byte{code};
             });
             return bytes;
           }},
          {{l.name + (in_blocks ? ".weight_scale_inv" : ".weight_scale"), ElementType::f32, shape},
           [=, &w](const ThreadPool&) {
             Bytes bytes(blocks * groups * sizeof(float));
             PartRows parts;
             for (std::size_t b = 0; b < blocks; ++b) {
               w.read_parts(b * l.parts.block_rows, 1, parts);
               std::memcpy(&bytes[b * groups * sizeof(float)], parts.scales.data(), parts.scales.size());
             }
             return bytes;
           }}};
}

}

const char* form_name(Form form) noexcept {
  return form == Form::gptq ? "gptq" : form == Form::fp8 ? "fp8" : "compressed-tensors";
}

std::optional<Form> form_named(std::string_view name) {
  for (const Form form : {Form::gptq, Form::compressed_tensors, Form::fp8})
    if (name == form_name(form)) return form;
  return std::nullopt;
}

LinearDescription LinearDescription::of(const std::string& name, const AnyWeights& weights) {
  const edgeq::WeightShape shape = weights.shape();
  LinearDescription result{name,    weights.format(), weights.parts(),  shape.n,
                           shape.k, shape.group,      shape.positions()};
  result.is_ordered = !shape.order.empty() && result.groups() > 1;
  return result;
}

Status form_holds(Form form, const LinearDescription& linear) {
  const Parts& parts = linear.parts;
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::unsupported,
                 linear.name + " cannot be written as " + form_name(form) + ": " + why};
  };
  const bool is_integer = parts.kind == Parts::Kind::integers, is_float8 = parts.kind == Parts::Kind::float8;
  if (!(is_integer && form != Form::fp8) && !(is_float8 && form != Form::gptq))
    return refuse("it is " + linear.format + ", the form holds " +
                  (form == Form::fp8    ? "8-bit floats with float scales"
                   : form == Form::gptq ? "integers with an integer zero"
                                        : "integers with an integer zero and 8-bit floats"));
  if (is_float8 && parts.type != ElementType::f8_e4m3) return refuse("its codes are not E4M3");
  if (is_float8) return edgeq::success();
  if (linear.positions != linear.k) return refuse("the groups of its act-order are uneven");
  const std::size_t per_word = 32 / static_cast<std::size_t>(parts.bits);
  if (form == Form::gptq && linear.k % per_word != 0)
    return refuse("K = " + std::to_string(linear.k) + " does not fill words of " + std::to_string(per_word) +
                  " codes");
  if (form == Form::compressed_tensors && linear.groups() > 1 && linear.k % linear.group != 0)
    return refuse("K = " + std::to_string(linear.k) + " is no multiple of the group, " +
                  std::to_string(linear.group));
  return edgeq::success();
}

edgeq::Result<FormContext> FormContext::of(Form form, std::span<const LinearDescription> linears) {
  FormContext context;
  for (const LinearDescription& linear : linears) {
    if (Status status = form_holds(form, linear); !status) return status.error();
    context.has_zeros |= linear.parts.has_zeros;
    if (form == Form::fp8 && !context.block && linear.is_blocked())
      context.block = {linear.parts.block_rows, linear.group};
  }
  for (const LinearDescription& linear : linears) {
    if (!context.block) break;
    const auto [rows, columns] = *context.block;
    const bool agrees = linear.parts.block_rows == rows && linear.group == columns;
    const bool is_inside_one = !linear.is_blocked() && linear.parts.block_rows >= linear.n &&
                               rows >= linear.n && columns >= linear.k;
    if (!agrees && !is_inside_one)
      return Error{ErrorCode::unsupported,
                   linear.name + " cannot be written as fp8: its scales are not for blocks of " +
                       std::to_string(rows) + " x " + std::to_string(columns) + ", as others' are"};
  }
  return context;
}

std::vector<FormTensor> tensors_of(Form form, const LinearDescription& linear, const AnyWeights& weights,
                                   const FormContext& context) {
  if (linear.parts.kind == Parts::Kind::float8)
    return float8_tensors(linear, weights, context.block.has_value());
  if (form == Form::gptq) return gptq_tensors(linear, weights);
  return pack_quantized_tensors(linear, weights, context.has_zeros);
}

}
