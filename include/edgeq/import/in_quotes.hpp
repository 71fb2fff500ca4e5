// SPDX-License-Identifier: Apache-2.0
// How error messages repeat what a file says.
#pragma once
#include <string>
#include <string_view>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The text in quotation marks, but at most 64 characters of it and all of them printable.
inline std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text.substr(0, 64)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > 64 ? "\"..." : "\"");
}

}
