// SPDX-License-Identifier: Apache-2.0
// 8-bit integer formats.
#include "support/model_formats.hpp"

std::span<const bench::ModelFormat> bench::int8_formats() {
  using namespace edgeq;
  static constexpr ModelFormat formats[] = {
      {"int8_g128", pack_random<Int8<128>, IntegerFormatActivations>},
      {"int8_g32", pack_random<Int8<32>, QuantizedActivations>},
      {"int8_channel", pack_random<Int8<per_channel>, Int8ChannelActivations>},
      {"int8_zero_channel", pack_random<Int8Zero<per_channel>, Int8ChannelActivations>},
  };
  return formats;
}
