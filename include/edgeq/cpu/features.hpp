// SPDX-License-Identifier: Apache-2.0
// The groups of instructions that kernels need, and sets of them: plain values.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// One bit for each group of instructions that a kernel may need. Masks are the bitwise or of these values.
enum class Feature : std::uint32_t {
  avx2 = 1u << 0,          ///< AVX2, FMA and F16C, and the system saves the ymm registers
  avx_vnni = 1u << 1,      ///< vpdpbusd on ymm registers without AVX-512
  avx512 = 1u << 2,        ///< AVX-512 F, BW, VL, DQ and CD, and the system saves the zmm registers
  avx512_vnni = 1u << 3,   ///< vpdpbusd on zmm registers
  avx512_bf16 = 1u << 4,   ///< vdpbf16ps and vpermi2b; Cooper Lake, which lacks the latter, counts as without
  amx_int8 = 1u << 5,      ///< AMX tiles and tdpbusd, and the system has granted the tile data
  amx_bf16 = 1u << 6,      ///< AMX tiles and tdpbf16ps, and the system has granted the tile data
  neon = 1u << 7,          ///< Advanced SIMD of Armv8-A
  neon_dotprod = 1u << 8,  ///< sdot, udot
  neon_i8mm = 1u << 9,     ///< smmla, usdot
  neon_bf16 = 1u << 10,    ///< bfdot, bfmmla
  sve = 1u << 11,          ///< the scalable vectors of the first version; says nothing of dotprod or i8mm
  sve_i8mm = 1u << 12,     ///< smmla, usdot on scalable vectors; says nothing of neon_i8mm, nor that of it
  sve_bf16 = 1u << 13,     ///< bfdot, bfmmla on scalable vectors; says nothing of neon_bf16, nor that of it
  sve_512 = 1u << 14,      ///< scalable vectors of 512 bits or more
};

/// The mask of one or more features.
template <class... Features>
constexpr std::uint32_t feature_mask(Features... features) {
  return (std::uint32_t{0} | ... | static_cast<std::uint32_t>(features));
}

namespace detail {

struct FeatureEntry {
  Feature feature;
  std::string_view name;
  std::uint32_t needs;  // the feature is of no use without these
};

// A feature stands below all that it needs, so one pass from the top settles the dependencies.
inline constexpr FeatureEntry feature_table[] = {
    {Feature::avx2, "avx2", 0},
    {Feature::avx_vnni, "avx_vnni", feature_mask(Feature::avx2)},
    {Feature::avx512, "avx512", feature_mask(Feature::avx2)},
    {Feature::avx512_vnni, "avx512_vnni", feature_mask(Feature::avx512)},
    {Feature::avx512_bf16, "avx512_bf16", feature_mask(Feature::avx512)},
    {Feature::amx_int8, "amx_int8", feature_mask(Feature::avx512)},  // zmm registers fill the tiles
    {Feature::amx_bf16, "amx_bf16", feature_mask(Feature::avx512)},
    {Feature::neon, "neon", 0},
    {Feature::neon_dotprod, "neon_dotprod", feature_mask(Feature::neon)},
    {Feature::neon_i8mm, "neon_i8mm", feature_mask(Feature::neon)},
    {Feature::neon_bf16, "neon_bf16", feature_mask(Feature::neon)},
    {Feature::sve, "sve", feature_mask(Feature::neon)},
    {Feature::sve_i8mm, "sve_i8mm", feature_mask(Feature::sve)},
    {Feature::sve_bf16, "sve_bf16", feature_mask(Feature::sve)},
    {Feature::sve_512, "sve_512", feature_mask(Feature::sve)},
};

}

/// `mask` less every feature that needs one which is not in `mask`.
constexpr std::uint32_t with_dependencies(std::uint32_t mask) {
  for (const detail::FeatureEntry& entry : detail::feature_table)
    if ((mask & entry.needs) != entry.needs) mask &= ~feature_mask(entry.feature);
  return mask;
}

/// The feature's name as `parse_feature_list` reads it.
constexpr std::string_view feature_name(Feature feature) {
  for (const detail::FeatureEntry& entry : detail::feature_table)
    if (entry.feature == feature) return entry.name;
  return "unknown";
}

/// The mask of the features named in `list`, separated by commas or spaces. Unknown names are ignored: a list
/// written for a newer version must not stop an older one.
constexpr std::uint32_t parse_feature_list(std::string_view list) {
  std::uint32_t mask = 0;
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(", ");
    const std::string_view name = list.substr(0, end);
    for (const detail::FeatureEntry& entry : detail::feature_table)
      if (entry.name == name) mask |= feature_mask(entry.feature);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return mask;
}

/// The names of the features in `mask`, separated by ", ", for messages.
inline std::string feature_list(std::uint32_t mask) {
  std::string list;
  for (const detail::FeatureEntry& entry : detail::feature_table) {
    if ((mask & feature_mask(entry.feature)) == 0) continue;
    if (!list.empty()) list += ", ";
    list += entry.name;
  }
  return list;
}

/// The features a program may use. Copy it, mask it, pass it: selection reads this value and nothing else, so
/// a test sees every machine by making one.
struct CpuFeatures {
  std::uint32_t bits = 0;
  /// Features that the processor has, but that the operating system refuses or `without` has taken away.
  std::uint32_t withheld = 0;

  /// True if every feature of `mask` may be used.
  constexpr bool has(std::uint32_t mask) const { return (bits & mask) == mask; }
  constexpr bool has(Feature feature) const { return has(feature_mask(feature)); }

  /// The features of `mask` that may not be used.
  constexpr std::uint32_t missing(std::uint32_t mask) const { return mask & ~bits; }

  /// A machine without the features of `mask` and without those that need them.
  constexpr CpuFeatures without(std::uint32_t mask) const {
    const std::uint32_t kept = with_dependencies(bits & ~mask);
    return {kept, withheld | (bits & ~kept)};
  }
  constexpr CpuFeatures without(Feature feature) const { return without(feature_mask(feature)); }

  /// Asks the processor and the operating system, then takes away the features that the environment variable
  /// EDGEQ_DISABLE lists ("amx_int8,avx512_vnni"). Keeps nothing: every call asks again, from any thread. On
  /// Linux it requests the permission to use AMX tiles for the whole process if there are any.
  static CpuFeatures detect();

  friend constexpr bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

namespace detail {

constexpr bool all_set(std::uint64_t value, std::uint64_t mask) {
  return (value & mask) == mask;
}

}

}
