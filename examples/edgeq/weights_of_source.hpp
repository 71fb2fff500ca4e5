// SPDX-License-Identifier: Apache-2.0
// Any weight source as AnyWeights. Every source type costs the compiler a second: include it where a visitor
// hands sources out, and nowhere else.
#pragma once
#include <algorithm>
#include <utility>

#include "edgeq/format/formats.hpp"
#include "weights.hpp"

namespace tool {

namespace detail {

template <class F>
inline constexpr bool is_integers = false;
template <class Codec, class Offset, int Group, edgeq::StoredFloat Scale>
inline constexpr bool is_integers<edgeq::GroupQuantized<Codec, Offset, Group, Scale>> =
    edgeq::codec::IntegerCodec<Codec> && !Offset::has_minima;

template <class F>
inline constexpr bool is_floats = false;
template <class T>
inline constexpr bool is_floats<edgeq::FloatWeight<T>> = true;

template <class F>
inline constexpr bool is_float8 = false;
template <class Element, int BlockN, int BlockK>
inline constexpr bool is_float8<edgeq::ScaledFloat<Element, BlockN, BlockK>> = true;

template <class T>
inline constexpr edgeq::ElementType element_type =
    std::same_as<T, float>               ? edgeq::ElementType::f32
    : std::same_as<T, edgeq::Float16>    ? edgeq::ElementType::f16
    : std::same_as<T, edgeq::BFloat16>   ? edgeq::ElementType::bf16
    : std::same_as<T, edgeq::Float8E4M3> ? edgeq::ElementType::f8_e4m3
                                         : edgeq::ElementType::f8_e5m2;

/// The same format with a group that is known when it is compiled; void where there is none.
template <class F, int Group>
struct WithGroup {
  using type = void;
};
template <class Offset, edgeq::StoredFloat Scale, int Group>
requires(!Offset::has_minima) struct WithGroup<
    edgeq::GroupQuantized<edgeq::codec::Nibble, Offset, edgeq::dynamic_group, Scale>, Group> {
  using type = edgeq::GroupQuantized<edgeq::codec::Nibble, Offset, Group, Scale>;
};

}

/// AnyWeights of a source, of which it keeps a copy.
template <class Source>
class WeightsOf final : public AnyWeights {
  using F = typename Source::Format;
  using Rows = typename F::Rows;

 public:
  explicit WeightsOf(Source source) : source_(std::move(source)) {}

  edgeq::WeightShape shape() const override { return source_.shape(); }

  std::string format(PackOptions options) const override {
    std::string name;
    with_format(options, [&]<class Format>(std::type_identity<Format>) { name = Format::name(); });
    return name;
  }

  Parts parts() const override {
    Parts parts;
    if constexpr (detail::is_floats<F>) {
      parts = {.kind = Parts::Kind::floats, .type = detail::element_type<typename F::Element>};
    } else if constexpr (detail::is_integers<F>) {
      parts = {.kind = Parts::Kind::integers,
               .type = detail::element_type<typename F::Scale>,
               .bits = F::Codec::bits,
               .has_zeros = F::Offset::has_zeros};
    } else if constexpr (detail::is_float8<F>) {
      parts = {.kind = Parts::Kind::float8, .type = detail::element_type<typename F::Element>, .bits = 8};
      parts.block_rows = source_.view.block_n();
    }
    return parts;
  }

  edgeq::Result<std::size_t> packed_bytes() const override {
    const auto geometry = edgeq::PanelGeometry::of<F>(source_.shape());
    if (!geometry) return geometry.error();
    return geometry->packed_bytes();
  }

  void read(std::size_t first, std::size_t count, float* out) const override {
    const edgeq::WeightShape shape = source_.shape();
    for_each_block(first, count, [&](std::size_t done, std::size_t rows_now, const Rows& rows) {
      for (std::size_t r = 0; r < rows_now; ++r)
        for (std::size_t i = 0; i < shape.positions(); ++i) {
          const std::size_t k = shape.order.empty() ? i : shape.order[i];
          if (k != edgeq::no_column) out[(done + r) * shape.k + k] = F::row_value(rows, r, i);
        }
    });
  }

  void read_parts(std::size_t first, std::size_t count, PartRows& out) const override {
    out = {};
    if constexpr (detail::is_integers<F> || detail::is_float8<F>) {
      for_each_block(first, count, [&](std::size_t, std::size_t rows_now, const Rows& rows) {
        const auto append = [&]<class T, class To>(const std::vector<T>& from, std::size_t columns,
                                                   std::vector<To>& to) {
          const auto* bytes = reinterpret_cast<const To*>(from.data());
          to.insert(to.end(), bytes, bytes + rows_now * columns * sizeof(T));
        };
        append(rows.codes, rows.k, out.codes);
        append(rows.scales, rows.groups, out.scales);
        if constexpr (detail::is_integers<F>)
          if (F::Offset::has_zeros) append(rows.zeros, rows.groups, out.zeros);
      });
    }
  }

  edgeq::Status add_to(edgeq::packed::Writer& writer, const std::string& name, std::span<const float> bias,
                       PackOptions options) const override {
    edgeq::Status status = edgeq::success();
    with_format(options, [&]<class Format>(std::type_identity<Format>) {
      status = writer.add<Format>(name, source_, edgeq::Bias(bias));
    });
    return status;
  }

 private:
  /// Calls function with the format in which the weights are packed.
  template <class Function>
  void with_format(PackOptions options, const Function& function) const {
    bool is_done = false;
    const auto consider = [&]<int Group>(std::integral_constant<int, Group>) {
      using Static = typename detail::WithGroup<F, Group>::type;
      if constexpr (!std::is_void_v<Static>) {
        if (is_done || !options.static_groups || source_.shape().group != Group) return;
        function(std::type_identity<Static>{});
        is_done = true;
      }
    };
    consider(std::integral_constant<int, 32>{});
    consider(std::integral_constant<int, 64>{});
    consider(std::integral_constant<int, 128>{});
    if (!is_done) function(std::type_identity<F>{});
  }

  /// Calls function(rows before, rows now, rows) for blocks of up to sixteen rows.
  template <class Function>
  void for_each_block(std::size_t first, std::size_t count, const Function& function) const {
    const edgeq::WeightShape shape = source_.shape();
    if (shape.positions() == 0) return;
    Rows rows;
    for (std::size_t done = 0; done < count; done += edgeq::panel_columns) {
      const std::size_t rows_now = std::min(edgeq::panel_columns, count - done);
      rows.reset(shape.positions(), std::min(shape.group, shape.positions()));
      for (std::size_t r = 0; r < rows_now; ++r) source_.read(first + done + r, r, rows);
      function(done, rows_now, rows);
    }
  }

  Source source_;
};

/// For visitors: the weights of a source that validates itself.
inline constexpr auto any_weights =
    []<class Source>(const Source& source) -> edgeq::Result<std::shared_ptr<const AnyWeights>> {
  if (edgeq::Status status = source.validate(); !status) return status.error();
  return std::shared_ptr<const AnyWeights>(std::make_shared<WeightsOf<Source>>(source));
};

}
