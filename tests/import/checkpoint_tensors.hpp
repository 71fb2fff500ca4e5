// SPDX-License-Identifier: Apache-2.0
// Checkpoint tensors for tests of importers: made of values or words, and what an importer makes of them.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "edgeq/import/tensor.hpp"
#include "edgeq/number/stored_float.hpp"
#include "edgeq/result.hpp"

namespace edgeq::test {

/// Owns tensors, every one at an odd address, so that typed loads show under a sanitizer.
class TensorStore {
 public:
  /// A tensor of elements, as a file has them.
  template <class T>
  CheckpointTensor add(const char* name, ElementType type, std::vector<std::size_t> shape,
                       const std::vector<T>& elements) {
    std::vector<std::byte>& bytes = storage_.emplace_back(1 + elements.size() * sizeof(T));
    copy_little_endian<T>(bytes.data() + 1, elements.data(), elements.size());
    return {name, type, std::move(shape), std::span<const std::byte>(bytes).subspan(1)};
  }
  CheckpointTensor words(const char* name, std::vector<std::size_t> shape,
                         const std::vector<std::uint32_t>& words) {
    return add(name, ElementType::i32, std::move(shape), words);
  }
  CheckpointTensor integers(const char* name, const std::vector<std::int32_t>& values) {
    return add(name, ElementType::i32, {values.size()}, values);
  }
  CheckpointTensor bytes(const char* name, std::vector<std::size_t> shape,
                         const std::vector<std::uint8_t>& bytes, ElementType type = ElementType::u8) {
    return add(name, type, std::move(shape), bytes);
  }
  /// Floats rounded to F16, BF16 or F32.
  CheckpointTensor floats(const char* name, ElementType type, std::vector<std::size_t> shape,
                          const std::vector<float>& values) {
    if (type == ElementType::f32) return add(name, type, std::move(shape), values);
    std::vector<std::uint16_t> patterns;
    for (const float value : values)
      patterns.push_back(type == ElementType::f16 ? Float16::from_float(value).bits
                                                  : BFloat16::from_float(value).bits);
    return add(name, type, std::move(shape), patterns);
  }

 private:
  std::deque<std::vector<std::byte>> storage_;
};

/// W as an importer reads it: the name of its format, and every value by the format's own definition.
struct Decoded {
  std::string format;
  std::size_t n = 0, k = 0, group = 0;
  std::vector<std::uint32_t> order;
  std::vector<float> values;  // [N, K], columns in the order of x

  float operator()(std::size_t row, std::size_t column) const { return values[row * k + column]; }
};

/// The function for visit_weights that reads all rows, with every place of a block of sixteen in use.
inline constexpr auto decode = [](const auto& source) -> Result<Decoded> {
  using Format = typename std::remove_cvref_t<decltype(source)>::Format;
  if (Status status = source.validate(); !status) return status.error();
  const WeightShape shape = source.shape();
  const std::vector<std::uint32_t> order(shape.order.begin(), shape.order.end());
  Decoded result{Format::name(), shape.n, shape.k, shape.group, order, {}};
  result.values.assign(shape.n * shape.k, -12345.0f);
  typename Format::Rows rows;
  std::vector<int> seen(shape.k);
  for (std::size_t n = 0; n < shape.n; ++n) {
    rows.reset(shape.positions(), shape.group);
    source.read(n, n % 16, rows);
    for (std::size_t i = 0; i < shape.positions(); ++i) {
      const std::size_t k = order.empty() ? i : order[i];
      if (k == no_column) continue;
      if (n == 0) ++seen[k];
      result.values[n * shape.k + k] = Format::row_value(rows, n % 16, i);
    }
  }
  for (const int times : seen) {
    EXPECT_EQ(times, shape.n == 0 ? 0 : 1) << "a column must stand at one position";
  }
  return result;
};

/// The same of a Result that must be a value.
inline Decoded expect_decoded(const Result<Decoded>& result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Decoded{};
}

/// Expects a refusal that says all of this.
template <class T>
void expect_refused(const Result<T>& result, ErrorCode code, std::initializer_list<const char*> words) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const char* word : words)
    EXPECT_NE(result.error().message.find(word), std::string::npos)
        << "no \"" << word << "\" in: " << result.error().message;
}

}
