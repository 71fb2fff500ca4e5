// SPDX-License-Identifier: Apache-2.0
// What every skeleton needs from outside a region: the atom's contract in words, and scalar helpers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "edgeq/activation/prepared.hpp"
#include "edgeq/format/formats.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

// An ISA's atom is a struct `Simd` of static functions, in the ISA's own namespace and region:
//
//   Int, Float, lanes            a register of `lanes` 32-bit integers or floats, one per output column
//   accumulators, tile_rows      how many sums stay in registers, and how many rows of x a tile takes
//   set1, add, subtract, multiply, divide, fma, min, max, clamp, bit_and, bit_or, shift_left<n>,
//   shift_right<n> (of signed integers), shift_right_by (of integers >= 0), reduce_add, reduce_max
//   high_nibbles                 the upper four bits of each byte
//   load_codes(line)             4 bytes for each of `lanes` columns; store_codes where codes are unpacked
//   broadcast_4(x)               4 consecutive codes of x in every lane
//   dot<Largest>(acc, values, x) acc += the products of the bytes of values[w] (unsigned, at most Largest)
//   and of
//                                x[w] (signed), summed over w
//   subtracted<Largest>          what dot takes from each value, to make it a signed byte; or 0
//   broadcast_16, lookup_bytes   a table of 16 bytes, and its entries at bytes 0..15
//   lookup(table, index)         entries of a table of 16 floats
//   widen_bytes                  bytes as integers
//   load_stored<T>, store_stored<T>              lanes floats of a stored type, from and to any address
//   load_weight<T, I>(line)      element I of each lane of a line of float weights
//   to_float, round (to nearest even), bits, from_bits, bf16_bits (rounded to nearest even, in the upper
//   half) keep(Float)                  the same value, opaque: Clang gives intrinsics fast flags under
//   -ffast-math
//                                and would reassociate products across it
//   store_bytes(p, Int), prefetch(p)

/// How far ahead of its reads a stream prefetches: 2 KiB won over 0.5, 1 and 4 KiB at four streams.
inline constexpr std::size_t prefetch_bytes = 2048;

/// Four bytes as one word, from any address.
EDGEQ_INLINE std::int32_t load_word(const void* p) noexcept {
  std::int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return word;
}

}

/// The kernels that a vector ISA has once it has included the skeletons: integer formats with integer
/// activations,
#define EDGEQ_INTEGER_KERNELS_OF_SKELETONS(isa_name)                                 \
  template <WeightFormat Format, ActivationPolicy Activation>                        \
  requires(Activation::is_integer &&                                                 \
           Format::is_integer) struct MicroKernel<Format, Activation, isa::isa_name> \
      : isa_name::PanelDot<Format, Activation> {                                     \
    static constexpr std::size_t min_m = 1;                                          \
  };
/// the same from the skeletons of quads, from `rows` rows on,
#define EDGEQ_KERNELS_OF_QUADS(isa_name, rows)                                       \
  template <WeightFormat Format, ActivationPolicy Activation>                        \
  requires(Activation::is_integer &&                                                 \
           Format::is_integer) struct MicroKernel<Format, Activation, isa::isa_name> \
      : isa_name::QuadProduct<Format, Activation, isa_name::Tile> {                  \
    static constexpr std::size_t min_m = rows;                                       \
  };
/// and every format with float activations.
#define EDGEQ_FLOAT_KERNELS_OF_SKELETONS(isa_name)                                        \
  template <WeightFormat Format, ActivationPolicy Activation>                             \
  requires(!Activation::is_integer) struct MicroKernel<Format, Activation, isa::isa_name> \
      : isa_name::PanelFma<Format, Activation> {                                          \
    static constexpr std::size_t min_m = 1;                                               \
  };
