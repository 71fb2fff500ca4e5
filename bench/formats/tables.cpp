// SPDX-License-Identifier: Apache-2.0
// Formats whose codes name entries of a table, and super-blocks.
#include "support/model_formats.hpp"

std::span<const bench::ModelFormat> bench::table_formats() {
  using namespace edgeq;
  static constexpr ModelFormat formats[] = {
      {"mxfp4", pack_random<MxFp4, QuantizedActivations>},
      {"nvfp4", pack_random<Fp4<16>, QuantizedActivations>},
      {"iq4_nl", pack_random<Iq4Nl<32>, QuantizedActivations>},
      {"nf4", pack_random<Nf4<64>, FloatFormatActivations>},
      {"q4_k", pack_random<Q4K, QuantizedActivations>},
      {"q6_k", pack_random<Q6K, QuantizedActivations>},
  };
  return formats;
}
