// SPDX-License-Identifier: Apache-2.0
// 4-bit symmetric formats.
#include "support/model_formats.hpp"

std::span<const bench::ModelFormat> bench::int4_formats() {
  using namespace edgeq;
  static constexpr ModelFormat formats[] = {
      {"int4_g128", pack_random<Int4<128>, IntegerFormatActivations>},
      {"int4_g32", pack_random<Int4<32>, IntegerFormatActivations>},
      {"int4_g128_ordered", pack_shuffled<Int4<128>, QuantizedActivations>},
      {"int4_dynamic_g128", pack_random<Int4<dynamic_group>, QuantizedActivations>},
  };
  return formats;
}
