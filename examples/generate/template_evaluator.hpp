// SPDX-License-Identifier: Apache-2.0
// Runs the syntax tree of a chat template over its variables.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "generate/template_syntax.hpp"
#include "generate/template_value.hpp"

namespace generate {

/// Evaluates statements into text. As in Jinja, a variable set inside a for is gone after each iteration.
/// Throws std::runtime_error that names the construct and line for what is not implemented, what Python would
/// refuse, and a template that evaluates and copies more than `max_work` values and bytes,
/// which bounds time and memory.
class Evaluator {
 public:
  /// Thousand messages of 1 kB, each evaluated ten times, cost some 10^7.
  static constexpr std::size_t max_work = std::size_t{1} << 26;

  explicit Evaluator(std::map<std::string, Value> globals) : scopes_{std::move(globals)} {}

  /// The output of `statements`.
  std::string run(const std::vector<Statement>& statements);

 private:
  void run_block(const std::vector<Statement>& statements);
  void run_loop(const Statement& loop);
  void run_branch(const Statement& branch);
  void output(const std::string& text, int line);

  Value evaluate(const Expression& expression);
  Value evaluate_kind(const Expression& expression);
  Value variable(const std::string& name) const;
  bool comparison(const Expression& expression);
  bool test(const Expression& expression);
  Value filter(const Expression& expression);
  Value call(const Expression& expression);
  Value method(const std::string& text, const std::string& name, const std::vector<Value>& arguments,
               int line);
  std::vector<Value> arguments_of(const Expression& expression);
  void spend(std::size_t work, int line);

  std::vector<std::map<std::string, Value>> scopes_;  // innermost last
  std::string output_;
  std::size_t work_ = 0;
};

}
