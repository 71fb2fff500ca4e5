// SPDX-License-Identifier: Apache-2.0
// FP8 and unquantized formats.
#include "support/model_formats.hpp"

std::span<const bench::ModelFormat> bench::float_formats() {
  using namespace edgeq;
  static constexpr ModelFormat formats[] = {
      {"fp8_b128", pack_random<Fp8Block<128, 128>, FloatFormatActivations>},
      {"fp8_channel", pack_random<Fp8Channel<>, FloatFormatActivations>},
      {"bf16", pack_random<Bf16Weight, FloatFormatActivations>},
      {"f16", pack_random<F16Weight, FloatFormatActivations>},
      {"f32", pack_random<F32Weight, FloatFormatActivations>},
  };
  return formats;
}
