// SPDX-License-Identifier: Apache-2.0
// Which modules a quantization config means: names, parts of names and a subset of Python's regular
// expressions, matched in linear time and without exceptions.
#pragma once
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace detail {
class PatternParser;
}

/// A set of module names, such as "model.layers.0.mlp.down_proj". Matching takes time in proportion to the
/// length of the name times that of the pattern.
class ModulePattern {
 public:
  /// The names of which a prefix matches, as by Python's re.match. Names are bytes.
  ///
  /// The expression has literals, `.`, classes such as `[^a-z_\d]`, `\d \w \s \D \W \S`, escaped punctuation,
  /// groups `(...)` and `(?:...)`, `|`, the quantifiers `* + ? {m} {m,} {m,n}` and their lazy forms, `^`,
  /// `$`.
  ///
  /// unsupported: what else Python has (lookaround, back references, flags, possessive quantifiers, named
  /// groups, `\b`), more than 32 groups in each other, or repetitions of more than 8 times the expression's
  /// length. invalid_file: what Python refuses too.
  static Result<ModulePattern> regex(std::string_view expression);

  /// This name alone.
  static ModulePattern exactly(std::string_view name) { return literal("", name, "$"); }
  /// The names that contain this text.
  static ModulePattern containing(std::string_view text) { return literal(".*", text, ""); }
  /// The names of which some consecutive components are this text, in which `*` stands for anything:
  /// "mlp.gate" matches "layers.0.mlp.gate" and "mlp.gate.linear", but not "layers.0.mlp.gate_proj".
  static ModulePattern components(std::string_view text) {
    return literal("(.*\\.)?", text, "(\\..*)?$", true);
  }

  bool matches(std::string_view name) const;

 private:
  friend class detail::PatternParser;

  // A program that many threads of control run in step over the name.
  enum class Operation : std::uint8_t {
    byte,   // the next byte must be `byte`
    any,    // any byte but a newline
    set,    // a byte of sets_[target]
    begin,  // only before the first byte
    end,    // only after the last byte
    jump,   // continue `target` instructions further on
    split,  // continue with the next instruction, and also `target` further on
    accept,
  };
  struct Instruction {
    Operation operation = Operation::accept;
    char byte = 0;
    std::int32_t target = 0;
  };

  ModulePattern() = default;
  static ModulePattern literal(std::string_view before, std::string_view text, std::string_view after,
                               bool has_wildcards = false);
  bool consumes(const Instruction& instruction, char c) const noexcept;

  std::vector<Instruction> program_;
  std::vector<std::bitset<256>> sets_;
};

inline ModulePattern ModulePattern::literal(std::string_view before, std::string_view text,
                                            std::string_view after, bool has_wildcards) {
  std::string expression(before);
  for (const char c : text) {
    if (has_wildcards && c == '*') {
      expression += ".*";
    } else {
      constexpr std::string_view special = "\\.^$*+?{}[]()|";
      if (special.find(c) != special.npos) expression += '\\';
      expression += c;
    }
  }
  return regex(expression.append(after)).value();
}

inline bool ModulePattern::consumes(const Instruction& instruction, char c) const noexcept {
  switch (instruction.operation) {
    case Operation::byte:
      return c == instruction.byte;
    case Operation::any:
      return c != '\n';
    case Operation::set:
      return sets_[static_cast<std::size_t>(instruction.target)][static_cast<unsigned char>(c)];
    default:
      return false;
  }
}

inline bool ModulePattern::matches(std::string_view name) const {
  std::vector<std::size_t> waiting{0}, ready;         // instructions to follow, and those that need a byte
  std::vector<std::size_t> seen(program_.size(), 0);  // 1 + the last position at which each was followed
  for (std::size_t position = 0;; ++position) {
    ready.clear();
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      if (std::exchange(seen[at], position + 1) == position + 1) continue;
      const Instruction& instruction = program_[at];
      const std::size_t further =
          at + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(instruction.target));
      switch (instruction.operation) {
        case Operation::accept:
          return true;
        case Operation::begin:
          if (position == 0) waiting.push_back(at + 1);
          break;
        case Operation::end:
          if (position == name.size()) waiting.push_back(at + 1);
          break;
        case Operation::jump:
          waiting.push_back(further);
          break;
        case Operation::split:
          waiting.push_back(further);
          waiting.push_back(at + 1);
          break;
        default:
          ready.push_back(at);
      }
    }
    if (position == name.size()) return false;
    for (const std::size_t at : ready)
      if (consumes(program_[at], name[position])) waiting.push_back(at + 1);
    if (waiting.empty()) return false;
  }
}

}

#include "edgeq/import/quantization_config_pattern_parser.hpp"
