// SPDX-License-Identifier: Apache-2.0
// GGUF tensors as weight sources, each for the edgeq format that holds its type exactly.
#pragma once
#include <cstring>

#include "edgeq/format/formats.hpp"
#include "edgeq/format/stacked_source.hpp"
#include "edgeq/import/gguf.hpp"
#include "edgeq/import/gguf_blocks.hpp"
#include "edgeq/import/gguf_k_blocks.hpp"
#include "edgeq/import/gguf_table_blocks.hpp"
#include "edgeq/import/gguf_ternary_blocks.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

/// W [N, K] in blocks of type Block, as the file has it. It views the file's bytes.
template <class Block>
requires(BlockType<Block> || SuperBlockType<Block>) struct BlockSource {
  using Format = typename Block::Format;
  Tensor tensor;

  WeightShape shape() const noexcept { return {tensor.rows(), tensor.columns(), group}; }
  /// A tensor that the reader accepted has whole blocks and all its bytes.
  Status validate() const { return success(); }

  void read(std::size_t n, std::size_t r, typename Format::Rows& rows) const noexcept {
    constexpr TypeInfo info = *type_info(Block::type);
    const std::size_t blocks = tensor.columns() / info.block_elements;
    const auto* from =
        reinterpret_cast<const std::uint8_t*>(tensor.data.data()) + n * blocks * info.block_bytes;
    std::uint8_t* codes = rows.codes.data() + r * rows.k;
    std::size_t i = r * rows.groups;
    for (std::size_t block = 0; block < blocks; ++block, from += info.block_bytes) {
      for (std::size_t e = 0; e < info.block_elements; ++e) *codes++ = Block::code(from, e);
      for (std::size_t g = 0; g < info.block_elements / group; ++g, ++i) {
        if constexpr (SuperBlockType<Block>) {
          rows.factors[i] = Block::factors(from, g);
        } else {
          rows.scales[i] = Block::scale(from, g);
          if constexpr (Format::Offset::has_minima) rows.minima[i] = Block::minimum(from, g);
        }
      }
      if constexpr (SuperBlockType<Block>) {
        rows.scales[r * rows.blocks + block] = Block::block_scale(from);
        if constexpr (Format::Offset::has_minima)
          rows.minima[r * rows.blocks + block] = Block::block_minimum(from);
      }
    }
  }

 private:
  static constexpr std::size_t group = static_cast<std::size_t>(Format::group);
  static_assert(type_info(Block::type)->block_elements % group == 0, "edgeq: a group does not cross blocks");
};

/// W [N, K] of plain floats, as the file has it.
template <StoredFloat T>
struct FloatSource : FloatBytes<T> {
  FloatSource() = default;
  FloatSource(const Tensor& tensor) : FloatBytes<T>{tensor.rows(), tensor.columns(), tensor.data} {}
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
    case TensorType::q2_k:
      return f(BlockSource<Q2_K>{tensor});
    case TensorType::q3_k:
      return f(BlockSource<Q3_K>{tensor});
    case TensorType::q4_k:
      return f(BlockSource<Q4_K>{tensor});
    case TensorType::q5_k:
      return f(BlockSource<Q5_K>{tensor});
    case TensorType::q6_k:
      return f(BlockSource<Q6_K>{tensor});
    case TensorType::iq4_nl:
      return f(BlockSource<IQ4_NL>{tensor});
    case TensorType::iq4_xs:
      return f(BlockSource<IQ4_XS>{tensor});
    case TensorType::mxfp4:
      return f(BlockSource<MXFP4>{tensor});
    case TensorType::nvfp4:
      return f(BlockSource<NVFP4>{tensor});
    case TensorType::tq1_0:
      return f(BlockSource<TQ1_0>{tensor});
    case TensorType::tq2_0:
      return f(BlockSource<TQ2_0>{tensor});
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
