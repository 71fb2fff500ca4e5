// SPDX-License-Identifier: Apache-2.0
// Packed weights: the panels of one matrix, shared by every layer that multiplies by it, and the packer.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "edgeq/executor.hpp"
#include "edgeq/kernel/float_control.hpp"
#include "edgeq/layout/aligned_buffer.hpp"
#include "edgeq/layout/panel.hpp"
#include "edgeq/number/stored_float.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A bias [N] of any float type, converted to float once. Empty means none.
class Bias {
 public:
  Bias() = default;
  template <StoredFloat T>
  Bias(std::span<const T> values) noexcept
      : data_(values.data()),
        size_(values.size()),
        convert_([](const void* data, std::size_t i) { return to_float(static_cast<const T*>(data)[i]); }) {}
  std::size_t size() const noexcept { return size_; }
  float operator[](std::size_t n) const noexcept { return convert_(data_, n); }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  float (*convert_)(const void*, std::size_t) = nullptr;
};

/// The panels of W [N, K] and the bias, immutable and shared: copying a PackedWeight copies a pointer.
class PackedWeight {
 public:
  const PanelGeometry& geometry() const noexcept { return storage_->geometry; }
  const std::uint8_t* panels() const noexcept {
    return reinterpret_cast<const std::uint8_t*>(storage_->panels.data());
  }
  /// Bias [N padded to 16], or null.
  const float* bias() const noexcept { return reinterpret_cast<const float*>(storage_->bias.data()); }

  /// The sum over k of each column's weights [N padded to 16], or null before find_column_sums.
  const float* column_sums() const noexcept {
    return column_sums_ == nullptr ? nullptr : reinterpret_cast<const float*>(column_sums_->data());
  }

  /// Finds the sum over k of W[n, k] in double, ascending, rounded once: what the zero point of an activation
  /// is multiplied by. Does nothing if it is known. Refuses if memory ran out.
  template <WeightFormat F, Executor E>
  Status find_column_sums(const E& executor) {
    if (column_sums_ != nullptr) return success();
    const PanelGeometry& g = geometry();
    auto sums = std::make_shared<AlignedBuffer>(g.panels * panel_columns * sizeof(float));
    if (g.panels != 0 && sums->data() == nullptr)
      return Error{ErrorCode::too_large, "edgeq: no memory for " + std::to_string(g.n) + " column sums"};
    auto* values = reinterpret_cast<float*>(sums->data());
    executor.run(g.panels, [&](std::size_t p) {
      const FloatControl control;
      std::vector<float> row(g.k);
      for (std::size_t n = p * panel_columns; n < (p + 1) * panel_columns; ++n) {
        double sum = 0.0;
        if (n < g.n) unpack_row<F>(n, row.data());
        for (std::size_t k = 0; n < g.n && k < g.k; ++k) sum += double{row[k]};
        values[n] = static_cast<float>(sum);
      }
    });
    column_sums_ = std::move(sums);
    return success();
  }

  /// Packs `source` as F. Needs the packed size plus one panel of rows per thread, whatever the size of W.
  /// Refuses a source that contradicts itself, a bias that is not [N], and sizes that do not fit in memory.
  template <WeightFormat F, WeightSource<F> Source, Executor E>
  static Result<PackedWeight> pack(const Source& source, const Bias& bias, const E& executor) {
    if (Status status = source.validate(); !status) return status.error();
    auto geometry = PanelGeometry::of<F>(source.shape());
    if (!geometry) return geometry.error();
    const PanelGeometry& g = *geometry;
    if (bias.size() != 0 && bias.size() != g.n)
      return Error{ErrorCode::invalid_argument, "edgeq: the bias has " + std::to_string(bias.size()) +
                                                    " elements, N is " + std::to_string(g.n)};
    auto storage = std::make_shared<Storage>();
    storage->geometry = g;
    storage->panels = AlignedBuffer(g.packed_bytes());
    if (bias.size() != 0) storage->bias = AlignedBuffer(g.panels * panel_columns * sizeof(float));
    if (storage->panels.size() != g.packed_bytes() || (bias.size() != 0 && storage->bias.data() == nullptr))
      return Error{ErrorCode::too_large,
                   "edgeq: no memory for " + std::to_string(g.packed_bytes()) + " packed bytes"};

    auto* panels = reinterpret_cast<std::uint8_t*>(storage->panels.data());
    const std::size_t tasks =
        std::min<std::size_t>(g.panels, std::max<std::size_t>(executor.concurrency(), 1));
    executor.run(tasks, [&](std::size_t task) {
      typename F::Rows rows;
      for (std::size_t p = g.panels * task / tasks; p < g.panels * (task + 1) / tasks; ++p) {
        rows.reset(g.k, g.group);
        const std::size_t first = p * panel_columns;
        for (std::size_t r = 0; r < panel_columns && first + r < g.n; ++r) source.read(first + r, r, rows);
        std::uint8_t* panel = panels + p * g.panel_bytes;
        if (g.panel_bytes != 0) std::memset(panel, 0, g.panel_bytes);
        for (std::size_t i = 0; i < g.groups; ++i)
          F::pack_group(panel + g.header_offset(i), panel + g.lines_offset(i), rows, i, i * g.group,
                        g.group_length(i));
      }
    });
    if (bias.size() != 0) {
      auto* values = reinterpret_cast<float*>(storage->bias.data());
      for (std::size_t n = 0; n < g.panels * panel_columns; ++n) values[n] = n < g.n ? bias[n] : 0.0f;
    }
    return PackedWeight(std::move(storage));
  }

  /// Row n of W as floats, the format's own decode of every code: `out` holds K elements.
  template <WeightFormat F>
  void unpack_row(std::size_t n, float* out) const noexcept {
    const PanelGeometry& g = geometry();
    const std::uint8_t* panel = panels() + n / panel_columns * g.panel_bytes;
    for (std::size_t i = 0; i < g.groups; ++i)
      for (std::size_t k = 0; k < g.group_length(i); ++k)
        *out++ = F::unpack(panel + g.header_offset(i), panel + g.lines_offset(i), n % panel_columns, k);
  }

 private:
  struct Storage {
    PanelGeometry geometry;
    AlignedBuffer panels;
    AlignedBuffer bias;
  };
  explicit PackedWeight(std::shared_ptr<const Storage> storage) noexcept : storage_(std::move(storage)) {}

  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const AlignedBuffer> column_sums_;
};

}
