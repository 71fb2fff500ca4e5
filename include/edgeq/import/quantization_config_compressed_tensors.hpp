// SPDX-License-Identifier: Apache-2.0
// What a config group of compressed-tensors says of weights. Users include
// edgeq/import/quantization_config.hpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/json.hpp"
#include "edgeq/import/quantization_config_fields.hpp"
#include "edgeq/import/quantization_config_weights.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::detail {

class CompressedTensorsFields : protected QuantizationConfigFields {
 protected:
  // The weights of a group whose format and version are known; nullopt if it leaves them as floats.
  std::optional<quantization::CompressedTensors> group_weights(json::Value group, std::string_view format,
                                                               std::string_view version) {
    using quantization::CompressedTensors;
    const auto weights = field(group, {"weights"});
    if (!weights || format == "dense") return std::nullopt;
    if (!weights->is_object())
      fail(ErrorCode::invalid_file, "the weights of a config group must be an object");
    struct Known {
      std::string_view name;
      CompressedTensors::Format format;
      std::string_view types;  // of its codes: int, float or both
      unsigned least_bits, most_bits;
      std::size_t group;  // 0: any
    };
    static constexpr Known formats[] = {
        {"pack-quantized", CompressedTensors::Format::pack_quantized, "int", 1, 8, 0},
        {"int-quantized", CompressedTensors::Format::int_quantized, "int", 1, 8, 0},
        {"float-quantized", CompressedTensors::Format::float_quantized, "float", 8, 8, 0},
        {"naive-quantized", CompressedTensors::Format::naive_quantized, "int or float", 8, 8, 0},
        {"nvfp4-pack-quantized", CompressedTensors::Format::nvfp4_pack_quantized, "float", 4, 4, 16},
        {"mxfp4-pack-quantized", CompressedTensors::Format::mxfp4_pack_quantized, "float", 4, 4, 32},
        {"mxfp8-quantized", CompressedTensors::Format::mxfp8_quantized, "float", 8, 8, 32},
    };
    const auto known = std::find_if(std::begin(formats), std::end(formats),
                                    [&](const Known& candidate) { return candidate.name == format; });
    if (known == std::end(formats)) {
      refuse("format", format, "which is not read");
      return std::nullopt;
    }
    CompressedTensors result;
    result.format = known->format;
    result.version = version;
    const std::int64_t width = integer(*weights, {"num_bits"}, 8);
    const std::string_view type = text(*weights, {"type"}, "int");
    result.is_float = type == "float";
    if (width < known->least_bits || width > known->most_bits || (type != "int" && type != "float") ||
        known->types.find(type) == known->types.npos) {
      refuse("format", format,
             "which is not read with type " + in_quotes(type) + " of " + std::to_string(width) + " bits");
    }
    result.bits = static_cast<unsigned>(width);
    result.symmetric = boolean(*weights, {"symmetric"}, true);
    read_strategy(*weights, result);
    if (known->group != 0 && result.group_size != known->group) {
      refuse("format", format,
             "whose groups have " + std::to_string(known->group) + " codes, not " +
                 std::to_string(result.group_size));
    }
    read_activation_order(*weights, result);
    return result;
  }

 private:
  void read_strategy(json::Value weights, quantization::CompressedTensors& result) {
    using Strategy = quantization::CompressedTensors::Strategy;
    const std::size_t group = field(weights, {"group_size"}) ? group_size(weights, -1) : 0;
    // Without a name the group tells: none is the tensor, -1 a channel.
    const std::string_view strategy = text(weights, {"strategy"},
                                           !field(weights, {"group_size"}) ? "tensor"
                                           : group == 0                    ? "channel"
                                                                           : "group");
    static constexpr std::pair<std::string_view, Strategy> strategies[] = {
        {"tensor", Strategy::tensor},
        {"channel", Strategy::channel},
        {"group", Strategy::group},
        {"block", Strategy::block},
        {"tensor_group", Strategy::tensor_group}};
    const auto known = std::find_if(std::begin(strategies), std::end(strategies),
                                    [&](const auto& candidate) { return candidate.first == strategy; });
    if (known == std::end(strategies)) return refuse("strategy", strategy, "which is not read");
    result.strategy = known->second;
    if (result.strategy == Strategy::group || result.strategy == Strategy::tensor_group) {
      if (!field(weights, {"group_size"})) {
        return fail(ErrorCode::invalid_file,
                    "strategy is " + in_quotes(strategy) + ", but there is no group_size");
      }
      result.group_size = group;
    }
    if (result.strategy == Strategy::block) {
      const auto structure = block(weights, {"block_structure"});
      if (!structure) {
        return fail(ErrorCode::invalid_file, "strategy is \"block\", but there is no block_structure");
      }
      result.block = *structure;
    }
  }

  void read_activation_order(json::Value weights, quantization::CompressedTensors& result) {
    const auto order = field(weights, {"actorder"});
    if (!order) return;
    // Old files have a bool.
    const std::string_view name =
        order->as_bool() ? (*order->as_bool() ? "group" : "static") : text(weights, {"actorder"});
    if (name == "group" || name == "dynamic") {
      result.activation_order = quantization::CompressedTensors::ActivationOrder::group;
    } else if (name != "weight" && name != "static") {
      refuse("actorder", name, "which is not read");
    }
  }
};

}
