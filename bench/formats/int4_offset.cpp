// SPDX-License-Identifier: Apache-2.0
// 4-bit formats with a zero point or a minimum.
#include "support/model_formats.hpp"

std::span<const bench::ModelFormat> bench::int4_offset_formats() {
  using namespace edgeq;
  static constexpr ModelFormat formats[] = {
      {"int4_zero_g128", pack_random<Int4Zero<128>, QuantizedActivations>},
      {"int4_min_g32", pack_random<Int4Min<32>, QuantizedActivations>},
  };
  return formats;
}
