// SPDX-License-Identifier: Apache-2.0
// Packed files as model files: panels are decoded by their formats' own definition.
#include <set>

#include "edgeq/format/formats.hpp"
#include "edgeq/import/checkpoint_linear.hpp"
#include "edgeq/packed/checksum.hpp"
#include "edgeq/packed/file.hpp"
#include "model_file.hpp"
#include "weights_of_source.hpp"

namespace tool {

using namespace edgeq;

namespace {

/// The panels of an entry.
template <class F>
class PanelWeights final : public AnyWeights {
 public:
  explicit PanelWeights(PackedWeight weight) : weight_(std::move(weight)) {}

  std::string format(PackOptions) const override { return F::name(); }
  WeightShape shape() const override {
    const PanelGeometry& g = weight_.geometry();
    return {g.n, weight_.k(), g.group, weight_.order()};
  }
  Parts parts() const override {
    if constexpr (tool::detail::is_floats<F>)
      return {.kind = Parts::Kind::floats, .type = tool::detail::element_type<typename F::Element>};
    else
      return {};
  }
  Result<std::size_t> packed_bytes() const override { return weight_.geometry().packed_bytes(); }
  void read(std::size_t first, std::size_t count, float* out) const override {
    for (std::size_t i = 0; i < count && weight_.k() != 0; ++i)
      weight_.unpack_row<F>(first + i, out + i * weight_.k());
  }
  void read_parts(std::size_t, std::size_t, PartRows& out) const override { out = {}; }
  Status add_to(packed::Writer&, const std::string& name, std::span<const float>,
                PackOptions) const override {
    return Error{ErrorCode::unsupported, name + " is packed already"};
  }

 private:
  PackedWeight weight_;
};

using Answer = Result<std::shared_ptr<const AnyWeights>>;

/// Every format that a packed file may name.
template <class... Formats>
struct KnownFormats {
  static Answer open(const packed::Entry& entry) {
    Answer answer =
        Error{ErrorCode::unsupported, "packed file: " + std::string(entry.name) + " is " +
                                          in_quotes(entry.format) + ", which this program does not know"};
    const auto consider = [&]<class F>(std::type_identity<F>) {
      if (entry.format != F::name()) return false;
      auto weight =
          PackedWeight::view<F>({entry.n, entry.k, entry.group, entry.order}, entry.data, entry.bias,
                                nullptr);  // the model keeps the mapping
      if (weight)
        answer = std::shared_ptr<const AnyWeights>(std::make_shared<PanelWeights<F>>(*std::move(weight)));
      else
        answer = Error{weight.error().code,
                       "packed file: " + std::string(entry.name) + ": " + weight.error().message};
      return true;
    };
    (void)(consider(std::type_identity<Formats>{}) || ...);
    return answer;
  }
};

template <class... Parts>
struct Joined;
template <class... A>
struct Joined<KnownFormats<A...>> {
  using type = KnownFormats<A...>;
};
template <class... A, class... B, class... Rest>
struct Joined<KnownFormats<A...>, KnownFormats<B...>, Rest...> {
  using type = typename Joined<KnownFormats<A..., B...>, Rest...>::type;
};

template <StoredFloat S>
using Int8FloatZero = GroupQuantized<codec::Byte, offset::FloatZero, dynamic_group, S>;
template <StoredFloat S>
using WithScale =
    KnownFormats<Int4<dynamic_group, S>, Int4<per_channel, S>, Int4<32, S>, Int4<64, S>, Int4<128, S>,
                 Int4Zero<dynamic_group, S>, Int4Zero<per_channel, S>, Int4Zero<32, S>, Int4Zero<64, S>,
                 Int4Zero<128, S>, Int4Min<dynamic_group, S>, Int4Min<32, S>, Int4FloatZero<dynamic_group, S>,
                 Int8<dynamic_group, S>, Int8<per_channel, S>, Int8<16, S>, Int8<32, S>, Int8<64, S>,
                 Int8<128, S>, Int8Zero<dynamic_group, S>, Int8Zero<per_channel, S>,
                 Int8Min<dynamic_group, S>, Int8Min<16, S>, Int8Min<32, S>, Int8FloatZero<S>, Iq4Nl<32, S>,
                 Nf4<64, S>, FloatWeight<S>>;
using Formats =
    Joined<WithScale<Float16>, WithScale<BFloat16>, WithScale<float>,
           KnownFormats<Int4<16, float>, Int4Min<16, float>, Int4<256, Float16>, MxFp4, Fp4<16, Float8E4M3>,
                        Fp4<16, float>, Q4K, Q6K, Fp8Block<128, 128>, Fp8Channel<>, Fp8Tensor<>,
                        Fp8Block<dynamic_group, dynamic_group, Float8E4M3>,
                        Fp8Block<dynamic_group, dynamic_group, Float8E5M2>>>::type;

std::optional<ElementType> element_type_named(std::string_view name) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(ElementType::f6_e3m2); ++i)
    if (element_info(static_cast<ElementType>(i)).name == name) return static_cast<ElementType>(i);
  return std::nullopt;
}

/// The elements of an entry, or why they are none.
Result<CheckpointTensor> elements_of(const packed::Entry& entry) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::invalid_file, "packed file: " + std::string(entry.name) + " has " + what};
  };
  const auto type = element_type_named(entry.format);
  if (!type) return refuse("elements of type " + in_quotes(entry.format) + ", which is none");
  const std::size_t bits = element_info(*type).bits;
  const bool fits = entry.n == 0 || entry.k == 0 ? entry.data.empty()
                                                 : entry.n <= entry.data.size() * 8 / entry.k / bits &&
                                                       entry.n * entry.k * bits == entry.data.size() * 8;
  if (!fits)
    return refuse(std::to_string(entry.data.size()) + " bytes for " + std::to_string(entry.n) + " x " +
                  std::to_string(entry.k) + " elements of " + std::to_string(bits) + " bits");
  return CheckpointTensor{entry.name, *type, {entry.n, entry.k}, entry.data};
}

Result<ModelItem> item_of(const packed::Entry& entry) {
  ModelItem item{.name = std::string(entry.name),
                 .stored = std::string(entry.format),
                 .shape = {entry.n, entry.k},
                 .stored_bytes = entry.data.size()};
  if (entry.layout == packed::Layout::panels) {
    auto weights = Formats::open(entry);
    if (!weights && weights.error().code != ErrorCode::unsupported) return weights.error();
    item.role = role_of_matrix(item.name);
    if (weights)
      item.weights = *std::move(weights);
    else
      item.refusal = weights.error().message;
    if (!entry.order.empty()) item.remark = "act-order";
    if (!entry.bias.empty())
      item.bias =
          CheckpointTensor{entry.name, ElementType::f32, {entry.n}, std::as_bytes(entry.bias.first(entry.n))};
    return item;
  }
  auto tensor = elements_of(entry);
  if (!tensor) return tensor.error();
  item.tensor = *std::move(tensor);
  constexpr std::string_view weight = ".weight";
  if (entry.n > 1 && entry.name.ends_with(weight) &&
      TensorChecks("floats").type(*item.tensor, stored_floats).ok()) {
    item.name.resize(item.name.size() - weight.size());
    item.role = role_of_matrix(item.name);
    const auto add = [&]<class T>(T) { item.weights = *any_weights(FloatTensorSource<T>{*item.tensor}); };
    with_float_type(stored_float_type(item.tensor->type), add);
  }
  return item;
}

}

Result<ModelFile> open_packed(const std::string& path) {
  auto file = packed::File::open(path);
  if (!file) return file.error();
  auto owner = std::make_shared<packed::File>(*std::move(file));
  ModelFile model;
  model.kind = ModelFile::Kind::packed;
  model.method = "packed";
  model.owner = owner;
  model.folder = std::filesystem::path(path).parent_path();
  std::set<std::string> names;
  for (const packed::Entry& entry : owner->entries()) {
    auto item = item_of(entry);
    if (!item) return item.error();
    if (!names.insert(item->name).second)
      return Error{ErrorCode::invalid_file, "packed file: module " + item->name + " stands there twice"};
    model.mapped.push_back(entry.data);
    model.items.push_back(*std::move(item));
  }
  return model;
}

Status verify_checksums(const std::string& path) {
  const auto file = packed::File::open(path);
  if (!file) return file.error();
  return file->verify(packed::checksum);
}

}
