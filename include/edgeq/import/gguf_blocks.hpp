// SPDX-License-Identifier: Apache-2.0
// What a block type of GGUF is to edgeq, and the types of 32 elements (ggml's block_q4_0 ... block_q8_0).
#pragma once
#include <concepts>

#include "edgeq/format/formats.hpp"
#include "edgeq/import/gguf.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

/// A block type: the edgeq format that holds it to the bit, where the fields of a block lie, and what they
/// say. `scale(b, g)` (and `minimum(b, g)`, where the format has minima) belongs to group g of the block at
/// b, `code(b, e)` is the format's code of its element e. Types without a codec of their own are widened.
template <class B>
concept BlockType = WeightFormat<typename B::Format> &&
    requires(const std::uint8_t* b, std::size_t i, typename B::Format::Scale scale) {
  { B::type } -> std::convertible_to<TensorType>;
  { B::scale(b, i) } -> std::same_as<decltype(scale)>;
  { B::code(b, i) } -> std::same_as<std::uint8_t>;
  requires !B::Format::Offset::has_minima || requires {
    { B::minimum(b, i) } -> std::same_as<decltype(scale)>;
  };
};

/// A block type that is a super-block of edgeq's, too: `factors(b, g)` are those of group g, block_scale(b)
/// (and block_minimum(b), where the format has minima) multiply them.
template <class B>
concept SuperBlockType = WeightFormat<typename B::Format> && requires(const std::uint8_t* b, std::size_t i) {
  { B::type } -> std::convertible_to<TensorType>;
  { B::factors(b, i) } -> std::same_as<GroupFactors>;
  { B::block_scale(b) } -> std::same_as<Float16>;
  { B::code(b, i) } -> std::same_as<std::uint8_t>;
  requires !B::Format::Offset::has_minima || requires {
    { B::block_minimum(b) } -> std::same_as<Float16>;
  };
};

/// The f16 at `b`, any address.
inline Float16 block_half(const std::uint8_t* b) noexcept {
  return load_little_endian<Float16>(b);
}
/// Element e of the nibbles at `q`: the low halves of `count` bytes, then their high halves.
constexpr std::uint8_t block_nibble(const std::uint8_t* q, std::size_t e, std::size_t count = 16) noexcept {
  return static_cast<std::uint8_t>(q[e % count] >> (e / count * 4) & 15);
}
/// Bit e of the little-endian word at `q`.
constexpr std::uint8_t block_bit(const std::uint8_t* q, std::size_t e) noexcept {
  return static_cast<std::uint8_t>(q[e / 8] >> (e % 8) & 1);
}

/// One f16 scale, the first field of a block.
struct HalfScale {
  static Float16 scale(const std::uint8_t* b, std::size_t) noexcept { return block_half(b); }
};
/// One f16 scale, then one f16 minimum.
struct HalfScaleAndMinimum : HalfScale {
  static Float16 minimum(const std::uint8_t* b, std::size_t) noexcept { return block_half(b + 2); }
};

struct Q4_0 : HalfScale {  // d * (nibble - 8)
  static constexpr TensorType type = TensorType::q4_0;
  using Format = Int4<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 2, e);
  }
};
struct Q4_1 : HalfScaleAndMinimum {  // d * nibble + m
  static constexpr TensorType type = TensorType::q4_1;
  using Format = Int4Min<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 4, e);
  }
};
struct Q5_0 : HalfScale {  // d * (code5 - 16) = d * (code5 + 112 - 128)
  static constexpr TensorType type = TensorType::q5_0;
  using Format = Int8<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>((block_nibble(b + 6, e) | block_bit(b + 2, e) << 4) + 112);
  }
};
struct Q5_1 : HalfScaleAndMinimum {  // d * code5 + m
  static constexpr TensorType type = TensorType::q5_1;
  using Format = Int8Min<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(block_nibble(b + 8, e) | block_bit(b + 4, e) << 4);
  }
};
struct Q8_0 : HalfScale {  // d * int8 = d * (int8 + 128 - 128)
  static constexpr TensorType type = TensorType::q8_0;
  using Format = Int8<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(b[2 + e] ^ 0x80);
  }
};

}
