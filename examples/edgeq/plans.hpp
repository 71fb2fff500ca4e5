// SPDX-License-Identifier: Apache-2.0
// Which kernel would multiply weights of a format here, and why not the others.
#pragma once
#include <string>
#include <string_view>

#include "edgeq/format/weight_format.hpp"

namespace tool {

/// The plan of one row of x with the library's default activations, a line for the choice and one for each
/// rejected kernel. Formats that differ in group or scale type have the same kernels; those whose kind is not
/// compiled in say so.
std::string plan_text(std::string_view format, const edgeq::WeightShape& shape, std::size_t packed_bytes);

}
