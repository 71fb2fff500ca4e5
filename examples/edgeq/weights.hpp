// SPDX-License-Identifier: Apache-2.0
// The weights of one linear behind one type, whatever file and layout they come from: what all commands work
// with.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgeq/format/weight_format.hpp"
#include "edgeq/import/tensor.hpp"
#include "edgeq/packed/writer.hpp"

namespace tool {

/// What weights are made of, for layouts that store the same parts.
struct Parts {
  enum class Kind {
    floats,    ///< plain ones
    integers,  ///< codes, and a scale and perhaps an integer zero per group
    float8,    ///< codes, and a float scale per block
    other,     ///< tables, super-blocks, minima: no checkpoint layout here has them
  };
  Kind kind = Kind::other;
  edgeq::ElementType type =
      edgeq::ElementType::f32;  ///< of floats, of the scales of integers, of float8 codes
  int bits = 0;                 ///< of a code: 4 or 8
  bool has_zeros = false;
  std::size_t block_rows = 1;  ///< of float8

  /// The zero of integers without zeros.
  int midpoint() const noexcept { return 1 << (bits - 1); }
};

/// Rows of integers or float8 taken apart, row-major.
struct PartRows {
  std::vector<std::uint8_t> codes;  ///< [rows, positions]
  std::vector<std::byte> scales;    ///< [rows, groups], of float8 as F32
  std::vector<std::uint8_t> zeros;  ///< [rows, groups], where there are zeros
};

/// How weights are packed.
struct PackOptions {
  /// 4-bit codes in groups of 32, 64 or 128 take the formats that know their group when they are compiled.
  bool static_groups = false;
};

/// W [N, K], in the edgeq format that holds it exactly. All functions may run on several threads at once.
class AnyWeights {
 public:
  virtual ~AnyWeights() = default;

  /// The format's name.
  virtual std::string format(PackOptions options = {}) const = 0;
  virtual edgeq::WeightShape shape() const = 0;
  virtual Parts parts() const = 0;
  /// The bytes of its panels, or why it cannot be packed.
  virtual edgeq::Result<std::size_t> packed_bytes() const = 0;
  /// Rows first .. first + count - 1 as floats, by the format's own decode; `out` holds count * K.
  virtual void read(std::size_t first, std::size_t count, float* out) const = 0;
  /// The parts of these rows; of integers and float8 only.
  virtual void read_parts(std::size_t first, std::size_t count, PartRows& out) const = 0;
  /// Adds itself and a bias [N], or none, to a packed file. What it views must outlive the writing.
  virtual edgeq::Status add_to(edgeq::packed::Writer& writer, const std::string& name,
                               std::span<const float> bias, PackOptions options) const = 0;
};

}
