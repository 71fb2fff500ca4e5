// SPDX-License-Identifier: Apache-2.0
// What config.json says of a checkpoint that the tool wrote.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "checkpoint_form.hpp"

namespace tool {

/// The quantization_config of these quantized linears; `plain` are the linears that stayed floats. What most
/// linears share is said once, exceptions by their names.
nlohmann::ordered_json quantization_config(Form form, std::span<const LinearDescription> linears,
                                           const FormContext& context, const std::vector<std::string>& plain);

}
