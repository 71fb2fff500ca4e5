// SPDX-License-Identifier: Apache-2.0
// Feeds tensors of arbitrary types, shapes and bytes to the importers of weight layouts and reads every row
// of what they accept: no fault, no read outside a tensor, no memory beyond the tensors' size.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <vector>

#include "edgeq/import/awq.hpp"
#include "edgeq/import/compressed_tensors.hpp"
#include "edgeq/import/gptq.hpp"
#include "edgeq/import/matmul_nbits.hpp"
#include "edgeq/import/tinygemm.hpp"

namespace {

using namespace edgeq;

void check(bool condition) {
  if (!condition) std::abort();
}

/// Small decisions from the front of the input, then zeros; tensors share the rest of it.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t below(std::size_t limit) { return next() % limit; }
  bool flag() { return below(2) == 1; }
  /// True once in 16 times: what makes a well-formed tensor wrong.
  bool rarely() { return below(16) == 1; }

  /// A tensor of this type and shape, or rarely of others. Its bytes end where its memory ends.
  CheckpointTensor tensor(const char* name, ElementType type, std::vector<std::size_t> shape) {
    if (rarely()) type = static_cast<ElementType>(below(22));
    if (rarely() && !shape.empty()) {
      constexpr std::size_t odd[] = {0,       1, 2, 7, 31, 33, std::size_t{1} << 32, std::size_t{1} << 61,
                                     SIZE_MAX};
      shape[below(shape.size())] = odd[below(std::size(odd))];
    }
    if (rarely()) shape.push_back(1 + below(2));
    if (rarely() && !shape.empty()) shape.pop_back();
    constexpr std::size_t most = std::size_t{1} << 16;
    std::size_t size = element_info(type).bits;
    for (const std::size_t extent : shape) size = extent > most ? most : std::min(size * extent, most);
    size = size / 8 + (rarely() ? 1 : 0);
    const bool odd_address = flag();
    std::vector<std::byte>& memory = storage_.emplace_back(size + odd_address);
    memory.shrink_to_fit();
    const std::uint8_t constant = flag() ? static_cast<std::uint8_t>(next()) : 0;
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] =
          static_cast<std::byte>(constant != 0 || bytes_.empty() ? constant : bytes_[i % bytes_.size()]);
    return {name, type, std::move(shape), std::span<const std::byte>(memory).subspan(odd_address)};
  }
  /// One of int32 whose elements are mostly below a limit.
  CheckpointTensor indices(const char* name, std::size_t count, std::size_t limit) {
    CheckpointTensor result = tensor(name, ElementType::i32, {count});
    std::vector<std::byte>& memory = storage_.back();
    const std::size_t shift = memory.size() - result.data.size();
    for (std::size_t i = 0; i < result.data.size() / 4; ++i) {
      auto value =
          static_cast<std::int32_t>(rarely() ? next() * 0x01010101u : below(std::max<std::size_t>(limit, 1)));
      std::memcpy(memory.data() + shift + 4 * i, &value, sizeof(value));
    }
    return result;
  }

 private:
  std::size_t next() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  std::span<const std::uint8_t> bytes_;
  std::deque<std::vector<std::byte>> storage_;
};

/// Reads all rows, and checks what a packer takes for granted.
constexpr auto read_all = [](const auto& source) -> Status {
  using Format = typename std::remove_cvref_t<decltype(source)>::Format;
  check(source.validate().ok());
  const WeightShape shape = source.shape();
  check(shape.group != 0 && validate_order(shape.k, shape.order).ok());
  // Rows without columns need no memory, so there can be more of either than anyone could count.
  if (shape.k == 0 || shape.n == 0) return success();
  check(shape.positions() <= std::size_t{1} << 21);
  typename Format::Rows rows;
  float sum = 0;
  for (std::size_t n = 0; n < shape.n; ++n) {
    rows.reset(shape.positions(), shape.group);
    source.read(n, n % 16, rows);
    for (std::size_t i = 0; i < shape.positions(); ++i) sum += Format::row_value(rows, n % 16, i);
  }
  volatile float used = sum;  // keeps the loads
  (void)used;
  return success();
};

std::size_t words(std::size_t count, int bits) {
  return (count * static_cast<std::size_t>(bits) + 31) / 32;
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in({data, size});
  constexpr ElementType float_types[] = {ElementType::f16, ElementType::bf16, ElementType::f32,
                                         ElementType::f8_e8m0};
  constexpr std::size_t group_sizes[] = {16, 32, 1, 3, 8, 64};
  const std::size_t layout = in.below(6), n = in.below(41), k = in.below(70);
  const std::size_t group = group_sizes[in.below(6)], groups = (k + group - 1) / group;
  const int bits = static_cast<int>(in.below(10));
  const ElementType float_type = float_types[in.below(4)];
  const std::int64_t stated =
      in.rarely() ? static_cast<std::int64_t>(in.below(4)) - 2 : static_cast<std::int64_t>(group);
  const auto sometimes = [&](auto make) {
    return in.flag() ? std::optional<CheckpointTensor>(make()) : std::nullopt;
  };
  const auto g_idx = [&] { return in.indices("g_idx", k, groups); };

  Status status = success();
  if (layout == 0) {
    constexpr std::string_view formats[] = {"", "gptq", "gptq_v2", "marlin"};
    const gptq::Tensors tensors{in.tensor("qweight", ElementType::i32, {words(k, bits), n}),
                                in.tensor("qzeros", ElementType::i32, {groups, words(n, bits)}),
                                in.tensor("scales", float_type, {groups, n}), sometimes(g_idx)};
    gptq::ZeroDecision decision;
    status = gptq::visit_weights(
        tensors, {bits, stated, in.flag(), in.flag(), formats[in.below(4)], in.flag() ? k : 0}, read_all,
        &decision);
    check(!decision.to_string().empty());
  } else if (layout == 1) {
    const std::size_t columns = n / 8 * 8;
    const awq::Tensors tensors{in.tensor("qweight", ElementType::i32, {k, n / 8}),
                               in.tensor("qzeros", ElementType::i32, {groups, n / 8}),
                               in.tensor("scales", float_type, {groups, columns})};
    status = awq::visit_weights(tensors, {.group_size = stated}, read_all);
  } else if (layout == 2) {
    const tinygemm::Tensors tensors{
        in.tensor("codes", in.flag() ? ElementType::u8 : ElementType::i32, {n, k}),
        in.tensor("scales_and_zeros", float_type, {groups, n, 2})};
    status = tinygemm::visit_weights(tensors, {stated}, read_all);
  } else if (layout == 3) {
    const std::size_t width = static_cast<std::size_t>(bits), zero_bytes = (groups * width + 7) / 8;
    const auto zeros = [&] {
      return in.flag() ? in.tensor("zero_points", ElementType::u8, {n * zero_bytes})
                       : in.tensor("zero_points", float_type, {n * groups});
    };
    const matmul_nbits::Tensors tensors{in.tensor("b", ElementType::u8, {n, groups, group * width / 8}),
                                        in.tensor("scales", float_type, {n, groups}), sometimes(zeros),
                                        sometimes(g_idx)};
    status = matmul_nbits::visit_weights(tensors, {in.rarely() ? SIZE_MAX / 3 : n, k, bits, group}, read_all);
  } else {
    using compressed_tensors::Strategy;
    const auto strategy = static_cast<Strategy>(in.below(4));
    const std::size_t columns = strategy == Strategy::group ? groups : 1;
    const std::size_t per_word = static_cast<std::size_t>(bits == 0 ? 32 : 32 / bits);
    const bool packed = layout == 4, dense = in.flag();
    const auto line = [&](std::size_t count) {
      return dense ? words(count, bits) : (count + per_word - 1) / per_word;
    };
    constexpr std::string_view versions[] = {"", "0.17.1", "0.18.0", "0.17.2.a1"};
    compressed_tensors::Tensors tensors;
    tensors.weight = packed ? in.tensor("weight_packed", ElementType::i32, {n, line(k)})
                            : in.tensor("weight", in.flag() ? ElementType::i8 : ElementType::f8_e4m3, {n, k});
    std::vector<std::size_t> shape{n, columns};
    if (strategy == Strategy::tensor) shape = {1};
    if (strategy == Strategy::block) shape = {(n + 6) / 7, groups};
    tensors.weight_scale = in.tensor("weight_scale", float_type, shape);
    const std::int64_t sizes[2] = {static_cast<std::int64_t>(n),
                                   in.rarely() ? INT64_MIN : static_cast<std::int64_t>(k)};
    if (!in.rarely())
      tensors.weight_shape =
          CheckpointTensor{"weight_shape", ElementType::i64, {2}, std::as_bytes(std::span(sizes))};
    tensors.weight_zero_point = sometimes([&] {
      return packed && strategy != Strategy::tensor
                 ? in.tensor("weight_zero_point", ElementType::i32, {line(n), columns})
                 : in.tensor("weight_zero_point", ElementType::i8, shape);
    });
    tensors.weight_g_idx = sometimes(g_idx);
    status = compressed_tensors::visit_weights(
        tensors, {bits, in.flag(), strategy, stated, fp8::Block{7, group}, versions[in.below(4)]}, read_all);
  }
  if (!status) check(status.error().message.find("tensor ") != std::string::npos);
  return 0;
}
