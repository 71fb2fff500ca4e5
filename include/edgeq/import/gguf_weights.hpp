// SPDX-License-Identifier: Apache-2.0
// GGUF tensors as weight sources: which edgeq format holds a block type exactly, and how its blocks are read.
#pragma once
#include <cstring>

#include "edgeq/format/formats.hpp"
#include "edgeq/format/stacked_source.hpp"
#include "edgeq/import/gguf.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

/// Elements of a block of the 32-element types.
inline constexpr std::size_t block_elements = 32;

/// Element e of the nibbles at `q`: the low halves of 16 bytes, then their high halves.
constexpr std::uint8_t block_nibble(const std::uint8_t* q, std::size_t e) noexcept {
  return static_cast<std::uint8_t>(q[e % 16] >> (e / 16 * 4) & 15);
}
/// Bit e of the little-endian word at `q`.
constexpr std::uint8_t block_bit(const std::uint8_t* q, std::size_t e) noexcept {
  return static_cast<std::uint8_t>(q[e / 8] >> (e % 8) & 1);
}

// One struct for each block type (ggml's block_q4_0 ... block_q8_0): the edgeq format that holds it to the
// bit, where its fields lie, and the format's code of element e. Types without a codec of their own are
// widened to byte codes.
struct Q4_0 {  // d * (nibble - 8)
  static constexpr TensorType type = TensorType::q4_0;
  using Format = Int4<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 2, e);
  }
};
struct Q4_1 {  // d * nibble + m
  static constexpr TensorType type = TensorType::q4_1;
  using Format = Int4Min<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 4, e);
  }
};
struct Q5_0 {  // d * (code5 - 16) = d * (code5 + 112 - 128)
  static constexpr TensorType type = TensorType::q5_0;
  using Format = Int8<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>((block_nibble(b + 6, e) | block_bit(b + 2, e) << 4) + 112);
  }
};
struct Q5_1 {  // d * code5 + m
  static constexpr TensorType type = TensorType::q5_1;
  using Format = Int8Min<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(block_nibble(b + 8, e) | block_bit(b + 4, e) << 4);
  }
};
struct Q8_0 {  // d * int8 = d * (int8 + 128 - 128)
  static constexpr TensorType type = TensorType::q8_0;
  using Format = Int8<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(b[2 + e] ^ 0x80);
  }
};

/// W [N, K] in blocks of type Block, as the file has it. It views the file's bytes.
template <class Block>
struct BlockSource {
  using Format = typename Block::Format;
  Tensor tensor;

  WeightShape shape() const noexcept { return {tensor.rows(), tensor.columns(), block_elements}; }
  /// A tensor that the reader accepted has whole blocks and all its bytes.
  Status validate() const { return success(); }

  void read(std::size_t n, std::size_t r, typename Format::Rows& rows) const noexcept {
    const std::size_t blocks = tensor.columns() / block_elements;
    const auto* from = reinterpret_cast<const std::uint8_t*>(tensor.data.data()) +
                       n * blocks * type_info(Block::type)->block_bytes;
    for (std::size_t g = 0; g < blocks; ++g, from += type_info(Block::type)->block_bytes) {
      std::uint8_t* codes = rows.codes.data() + r * rows.k + g * block_elements;
      for (std::size_t e = 0; e < block_elements; ++e) codes[e] = Block::code(from, e);
      std::memcpy(&rows.scales[r * blocks + g], from, sizeof(Float16));
      if constexpr (Format::Offset::has_minima)
        std::memcpy(&rows.minima[r * blocks + g], from + 2, sizeof(Float16));
    }
  }
};

/// W [N, K] of plain floats, at any address.
template <StoredFloat T>
struct FloatSource {
  using Format = FloatWeight<T>;
  Tensor tensor;

  WeightShape shape() const noexcept {
    return {tensor.rows(), tensor.columns(), tensor.columns() == 0 ? 1 : tensor.columns()};
  }
  Status validate() const { return success(); }
  void read(std::size_t n, std::size_t r, FloatRows<T>& rows) const noexcept {
    if (rows.k != 0)
      std::memcpy(rows.values.data() + r * rows.k, tensor.data.data() + n * rows.k * sizeof(T),
                  rows.k * sizeof(T));
  }
};

/// Calls f(source) with the source type of the tensor's type: BlockSource<Q4_0>, FloatSource<float>, ... Its
/// `Format` is the edgeq format that holds the tensor exactly. Returns f's Result, or an error that names a
/// type without a source.
template <class F>
auto visit_weights(const Tensor& tensor, const F& f) -> decltype(f(FloatSource<float>{})) {
  switch (tensor.type) {
    case TensorType::f32:
      return f(FloatSource<float>{tensor});
    case TensorType::f16:
      return f(FloatSource<Float16>{tensor});
    case TensorType::bf16:
      return f(FloatSource<BFloat16>{tensor});
    case TensorType::q4_0:
      return f(BlockSource<Q4_0>{tensor});
    case TensorType::q4_1:
      return f(BlockSource<Q4_1>{tensor});
    case TensorType::q5_0:
      return f(BlockSource<Q5_0>{tensor});
    case TensorType::q5_1:
      return f(BlockSource<Q5_1>{tensor});
    case TensorType::q8_0:
      return f(BlockSource<Q8_0>{tensor});
    default: {
      const TypeInfo* info = type_info(tensor.type);
      return Error{ErrorCode::unsupported, "gguf: tensor " + std::string(tensor.name) + " has type " +
                                               (info ? std::string(info->name) : "?") +
                                               ", which edgeq does not multiply"};
    }
  }
}

/// All elements of a small tensor (a norm, a bias) as floats.
inline Result<std::vector<float>> to_floats(const Tensor& tensor) {
  return visit_weights(tensor, [](const auto& source) -> Result<std::vector<float>> {
    using Format = typename std::remove_cvref_t<decltype(source)>::Format;
    const WeightShape shape = source.shape();
    std::vector<float> values;
    values.reserve(shape.n * shape.k);
    typename Format::Rows rows;
    for (std::size_t n = 0; n < shape.n; ++n) {
      rows.reset(shape.k, shape.group);
      source.read(n, 0, rows);
      for (std::size_t k = 0; k < shape.k; ++k) values.push_back(Format::row_value(rows, 0, k));
    }
    return values;
  });
}
}
