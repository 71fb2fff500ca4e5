// SPDX-License-Identifier: Apache-2.0
// What a layer will do and why: the chosen kernel, the rejected ones, the numerics class, the bytes of a
// call.
#pragma once
#include <string>
#include <vector>

#include "edgeq/kernel/kernel_table.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The decision for one number of rows.
struct Plan {
  struct Rejected {
    std::string isa;
    std::string reason;
  };
  std::string format;      ///< of the weights, e.g. "int4 sym g128 bf16"
  std::string activation;  ///< e.g. "int16"
  std::string numerics;    ///< what y is guaranteed to be
  std::size_t m = 0, n = 0, k = 0;
  std::string isa;               ///< of the kernel that runs; empty if none can
  std::size_t weight_bytes = 0;  ///< read by one call
  double bits_per_weight = 0;    ///< of the packed form, scales and padding included
  std::vector<Rejected> rejected;

  /// One line for the choice, one for each rejected kernel.
  std::string to_string() const {
    std::string text = format + " x " + activation + " [" + std::to_string(m) + ", " + std::to_string(k) +
                       "] -> [" + std::to_string(m) + ", " + std::to_string(n) +
                       "]: " + (isa.empty() ? "no kernel" : isa) + ", " + std::to_string(weight_bytes) +
                       " weight bytes; " + numerics + "\n";
    for (const Rejected& r : rejected) text += "  not " + r.isa + ": " + r.reason + "\n";
    return text;
  }
};

/// Walks the table as the selector does and keeps the reasons.
inline void explain(std::span<const KernelEntry> entries, CpuFeatures cpu, std::size_t m, bool any_rows,
                    Plan& plan) {
  for (const KernelEntry& entry : entries) {
    const auto reject = [&](std::string reason) { plan.rejected.push_back({entry.isa, std::move(reason)}); };
    const std::uint32_t missing = cpu.missing(entry.features), withheld = missing & cpu.withheld;
    if (missing != 0 && missing == withheld)
      reject(feature_list(withheld) + " is withheld, by the operating system or by EDGEQ_DISABLE");
    else if (missing != 0)
      reject("this processor lacks " + feature_list(missing & ~withheld));
    else if (entry.min_m > m && entry.min_m > 1 && !any_rows)
      reject("pays from M = " + std::to_string(entry.min_m));
    else if (!plan.isa.empty())
      reject("runs here, behind " + plan.isa);
    else
      plan.isa = entry.isa;
  }
}

}
