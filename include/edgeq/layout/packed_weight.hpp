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
  /// K: the columns of W and of x. The geometry counts positions, which may be more.
  std::size_t k() const noexcept { return storage_->k; }
  /// The column of x at each position, or empty for the natural order; see WeightShape.
  std::span<const std::uint32_t> order() const noexcept { return storage_->order; }
  const std::uint8_t* panels() const noexcept { return storage_->panels; }
  /// Bias [N padded to 16], or null.
  const float* bias() const noexcept { return storage_->bias; }

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
      std::vector<float> row(k());
      for (std::size_t n = p * panel_columns; n < (p + 1) * panel_columns; ++n) {
        double sum = 0.0;
        if (n < g.n) unpack_row<F>(n, row.data());
        for (std::size_t i = 0; n < g.n && i < row.size(); ++i) sum += double{row[i]};
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
    const WeightShape shape = source.shape();
    auto geometry = PanelGeometry::of<F>(shape);
    if (!geometry) return geometry.error();
    if (Status status = validate_order(shape.k, shape.order); !status) return status.error();
    const PanelGeometry& g = *geometry;
    if (bias.size() != 0 && bias.size() != g.n)
      return Error{ErrorCode::invalid_argument, "edgeq: the bias has " + std::to_string(bias.size()) +
                                                    " elements, N is " + std::to_string(g.n)};
    auto storage = std::make_shared<Storage>();
    storage->geometry = g;
    storage->k = shape.k;
    storage->own_panels = AlignedBuffer(g.packed_bytes());
    if (bias.size() != 0) storage->own_bias = AlignedBuffer(g.panels * panel_columns * sizeof(float));
    if (storage->own_panels.size() != g.packed_bytes() ||
        (bias.size() != 0 && storage->own_bias.data() == nullptr))
      return Error{ErrorCode::too_large,
                   "edgeq: no memory for " + std::to_string(g.packed_bytes()) + " packed bytes"};
    storage->own_order.assign(shape.order.begin(), shape.order.end());
    storage->order = storage->own_order;

    auto* panels = reinterpret_cast<std::uint8_t*>(storage->own_panels.data());
    storage->panels = panels;
    pack_panels<F>(source, g, executor, [&](std::size_t p) { return panels + p * g.panel_bytes; });
    if (bias.size() != 0) {
      auto* values = reinterpret_cast<float*>(storage->own_bias.data());
      storage->bias = values;
      for (std::size_t n = 0; n < g.panels * panel_columns; ++n) values[n] = n < g.n ? bias[n] : 0.0f;
    }
    return PackedWeight(std::move(storage));
  }

  /// Writes all panels of `source`, each to the zeroed or reused `panel_bytes` at panel_at(p); tasks take
  /// consecutive panels in ascending order.
  template <WeightFormat F, WeightSource<F> Source, Executor E, class PanelAt>
  static void pack_panels(const Source& source, const PanelGeometry& g, const E& executor,
                          const PanelAt& panel_at) {
    const std::size_t tasks =
        std::min<std::size_t>(g.panels, std::max<std::size_t>(executor.concurrency(), 1));
    executor.run(tasks, [&](std::size_t task) {
      typename F::Rows rows;
      for (std::size_t p = g.panels * task / tasks; p < g.panels * (task + 1) / tasks; ++p) {
        rows.reset(g.k, g.group);
        const std::size_t first = p * panel_columns;
        for (std::size_t r = 0; r < panel_columns && first + r < g.n; ++r) source.read(first + r, r, rows);
        std::uint8_t* panel = panel_at(p);
        if (g.panel_bytes != 0) std::memset(panel, 0, g.panel_bytes);
        for (std::size_t i = 0; i < g.groups; ++i)
          F::pack_group(panel + g.headers_offset(i), panel + g.lines_offset(i), rows, i, i * g.group,
                        g.group_length(i));
      }
    });
  }

  /// Panels, bias [N padded to 16] (or empty) and order that lie in memory of `owner`, such as a mapped file:
  /// nothing is copied. Refuses sizes that do not follow from the shape, and panels that are not aligned to
  /// 64 bytes.
  template <WeightFormat F>
  static Result<PackedWeight> view(const WeightShape& shape, std::span<const std::byte> panels,
                                   std::span<const float> bias, std::shared_ptr<const void> owner) {
    auto geometry = PanelGeometry::of<F>(shape);
    if (!geometry) return geometry.error();
    if (Status status = validate_order(shape.k, shape.order); !status) return status.error();
    const std::size_t padded = geometry->panels * panel_columns;
    if (panels.size() != geometry->packed_bytes() || (!bias.empty() && bias.size() != padded))
      return Error{ErrorCode::invalid_argument,
                   "edgeq: " + std::to_string(panels.size()) + " bytes of panels and " +
                       std::to_string(bias.size()) + " elements of bias; " + F::name() +
                       " of N = " + std::to_string(shape.n) + ", K = " + std::to_string(shape.k) + " needs " +
                       std::to_string(geometry->packed_bytes()) + " and " + std::to_string(padded)};
    if (reinterpret_cast<std::uintptr_t>(panels.data()) % line_bytes != 0)
      return Error{ErrorCode::invalid_argument, "edgeq: packed panels are not aligned to 64 bytes"};
    auto storage = std::make_shared<Storage>();
    storage->geometry = *geometry;
    storage->k = shape.k;
    storage->panels = reinterpret_cast<const std::uint8_t*>(panels.data());
    storage->bias = bias.empty() ? nullptr : bias.data();
    storage->order = shape.order;
    storage->owner = std::move(owner);
    return PackedWeight(std::move(storage));
  }

  /// Row n of W as floats, the format's own decode of every code: `out` holds K elements.
  template <WeightFormat F>
  void unpack_row(std::size_t n, float* out) const noexcept {
    const PanelGeometry& g = geometry();
    const std::uint8_t* panel = panels() + n / panel_columns * g.panel_bytes;
    for (std::size_t i = 0; i < g.groups; ++i)
      for (std::size_t k = 0; k < g.group_length(i); ++k) {
        const std::size_t column = order().empty() ? i * g.group + k : order()[i * g.group + k];
        if (column != no_column)
          out[column] = F::unpack({panel + g.headers_offset(i), i % g.groups_per_record},
                                  panel + g.lines_offset(i), n % panel_columns, k);
      }
  }

 private:
  struct Storage {
    PanelGeometry geometry;
    std::size_t k = 0;
    const std::uint8_t* panels = nullptr;
    const float* bias = nullptr;
    std::span<const std::uint32_t> order;
    // What the pointers point into: buffers of its own, or something of the owner's.
    AlignedBuffer own_panels, own_bias;
    std::vector<std::uint32_t> own_order;
    std::shared_ptr<const void> owner;
  };
  explicit PackedWeight(std::shared_ptr<const Storage> storage) noexcept : storage_(std::move(storage)) {}

  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const AlignedBuffer> column_sums_;
};

}
