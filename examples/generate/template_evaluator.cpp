// SPDX-License-Identifier: Apache-2.0
// Jinja's statements, filters, tests and calls, as far as chat templates of the Llama family need them.
#include "generate/template_evaluator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "generate/template_lexer.hpp"
#include "generate/template_text.hpp"

namespace generate {
namespace {

using Kind = Expression::Kind;

std::string change_case(std::string text, char from, int distance, const std::string& filter, int line) {
  for (char& c : text) {
    // Some letters change length with their case; no chat template needs that.
    if (static_cast<unsigned char>(c) >= 0x80) {
      refuse_template(line, "the filter '" + filter + "' is implemented for ASCII text only");
    }
    if (c >= from && c <= from + 25) c = static_cast<char>(c + distance);
  }
  return text;
}

// Refuses a call with a number of arguments that is not implemented.
void expect_arguments(const std::vector<Value>& arguments, std::size_t most, const std::string& name,
                      int line) {
  if (arguments.size() <= most) return;
  refuse_template(
      line, "'" + name + "' with " + std::to_string(arguments.size()) + " arguments is not implemented");
}

const std::string& expect_string(const std::vector<Value>& arguments, const std::string& name, int line) {
  const auto* text = arguments.empty() ? nullptr : arguments[0].as<std::string>();
  if (!text) refuse_template(line, "'" + name + "' needs a string as its argument");
  return *text;
}

}

std::string Evaluator::run(const std::vector<Statement>& statements) {
  run_block(statements);
  return std::move(output_);
}

void Evaluator::run_block(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    switch (statement.kind) {
      case Statement::Kind::text:
        output(statement.text, statement.line);
        break;
      case Statement::Kind::output:
        output(to_text(evaluate(statement.expression), statement.line), statement.line);
        break;
      case Statement::Kind::set:
        scopes_.back().insert_or_assign(statement.names[0], evaluate(statement.expression));
        break;
      case Statement::Kind::loop:
        run_loop(statement);
        break;
      case Statement::Kind::branch:
        run_branch(statement);
        break;
    }
  }
}

void Evaluator::run_loop(const Statement& loop) {
  if (loop.names.size() > 1) refuse_template(loop.line, "'for' with several variables is not implemented");
  const std::vector<Value> list = elements(evaluate(loop.expression), loop.line);
  spend(list.size(), loop.line);
  for (std::size_t i = 0; i < list.size(); ++i) {
    scopes_.push_back({{loop.names[0], list[i]}, {"loop", {LoopState{i, list.size()}}}});
    run_block(loop.body);
    scopes_.pop_back();
  }
}

void Evaluator::run_branch(const Statement& branch) {
  for (const Statement::Arm& arm : branch.arms) {
    if (arm.condition.kind != Kind::absent && !is_true(evaluate(arm.condition))) continue;
    run_block(arm.body);
    return;
  }
}

void Evaluator::output(const std::string& text, int line) {
  spend(text.size(), line);
  output_ += text;
}

void Evaluator::spend(std::size_t work, int line) {
  work_ += work;
  if (work_ > max_work)
    refuse_template(line, "the template takes more than 2^26 steps for this conversation");
}

Value Evaluator::evaluate(const Expression& expression) {
  Value value = evaluate_kind(expression);
  std::size_t size = 1;
  if (const auto* text = value.as<std::string>()) size += text->size();
  if (const auto* list = value.as<Value::List>()) size += (*list)->size();
  spend(size, expression.line);
  return value;
}

Value Evaluator::evaluate_kind(const Expression& expression) {
  const int line = expression.line;
  const auto operand = [&](std::size_t i) { return evaluate(expression.operands[i]); };
  switch (expression.kind) {
    case Kind::absent:
    case Kind::none:
      return {Value::None{}};
    case Kind::string:
      return {expression.text};
    case Kind::integer:
      return {expression.integer};
    case Kind::boolean:
      return {expression.integer != 0};
    case Kind::variable:
      return variable(expression.text);
    case Kind::attribute:
      return attribute(operand(0), expression.text, line);
    case Kind::item: {
      const Value value = operand(0);
      return item(value, operand(1), line);
    }
    case Kind::slice: {
      const Value value = operand(0);
      const Value start = operand(1);
      return slice(value, start, operand(2), line);
    }
    case Kind::call:
      return call(expression);
    case Kind::keyword:
      refuse_template(line, "the named argument '" + expression.text + "' is not implemented");
    case Kind::filter:
      return filter(expression);
    case Kind::test:
      return {test(expression)};
    case Kind::negative:
      return negative(operand(0), line);
    case Kind::logical_not:
      return {!is_true(operand(0))};
    case Kind::logical_and: {
      Value left = operand(0);
      return is_true(left) ? operand(1) : left;
    }
    case Kind::logical_or: {
      Value left = operand(0);
      return is_true(left) ? left : operand(1);
    }
    case Kind::comparison:
      return {comparison(expression)};
    case Kind::arithmetic: {
      const Value left = operand(0);
      return arithmetic(left, expression.text, operand(1), line);
    }
    case Kind::concatenate: {
      const std::string left = to_text(operand(0), line);
      return {left + to_text(operand(1), line)};
    }
    case Kind::conditional:
      if (is_true(operand(0))) return operand(1);
      if (expression.operands[2].kind == Kind::absent) return {Undefined{"an if without else"}};
      return operand(2);
  }
  throw std::logic_error("Evaluator: an expression of no known kind");
}

Value Evaluator::variable(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return {Undefined{name}};
}

// a < b < c holds if both do, and stops at the first that does not.
bool Evaluator::comparison(const Expression& expression) {
  const int line = expression.line;
  Value left = evaluate(expression.operands[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    const std::string& symbol = expression.operators[i];
    Value right = evaluate(expression.operands[i + 1]);
    bool holds = false;
    if (symbol == "==" || symbol == "!=") {
      holds = is_equal(left, right) == (symbol == "==");
    } else if (symbol == "in" || symbol == "not in") {
      holds = contains(right, left, line) == (symbol == "in");
    } else {
      const auto order = compare(left, right, line);
      holds = symbol == "<"    ? order < 0
              : symbol == ">"  ? order > 0
              : symbol == "<=" ? order <= 0
                               : order >= 0;
    }
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

bool Evaluator::test(const Expression& expression) {
  const Value value = evaluate(expression.operands[0]);
  const std::string& name = expression.text;
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.as<Value::None>() != nullptr;
  if (name == "string") return value.as<std::string>() != nullptr;
  refuse_template(expression.line, "the test '" + name + "' is not implemented");
}

std::vector<Value> Evaluator::arguments_of(const Expression& expression) {
  std::vector<Value> arguments;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    arguments.push_back(evaluate(expression.operands[i]));
  }
  return arguments;
}

Value Evaluator::filter(const Expression& expression) {
  const int line = expression.line;
  const std::string& name = expression.text;
  const Value value = evaluate(expression.operands[0]);
  const std::vector<Value> arguments = arguments_of(expression);
  if (name == "default") {
    // default(fallback = "", replace_false = false)
    expect_arguments(arguments, 2, name, line);
    const bool replaces_false = arguments.size() == 2 && is_true(arguments[1]);
    const bool is_missing = value.is_undefined() || (replaces_false && !is_true(value));
    if (!is_missing) return value;
    return arguments.empty() ? Value{std::string()} : arguments[0];
  }
  if (name != "trim" && name != "length" && name != "upper" && name != "lower" && name != "tojson") {
    refuse_template(line, "the filter '" + name + "' is not implemented");
  }
  expect_arguments(arguments, 0, name, line);
  if (name == "length") return {length(value, line)};
  if (name == "trim") return {std::string(strip_white_space(to_text(value, line), Strip::both))};
  if (name == "upper") return {change_case(to_text(value, line), 'a', 'A' - 'a', name, line)};
  if (name == "lower") return {change_case(to_text(value, line), 'A', 'a' - 'A', name, line)};
  const auto* text = value.as<std::string>();
  if (!text)
    refuse_template(line, "'tojson' of " + describe(value) + " is not implemented, only of a string");
  return {json_string(*text)};
}

Value Evaluator::call(const Expression& expression) {
  const int line = expression.line;
  const Expression& callee = expression.operands[0];
  if (callee.kind == Kind::attribute) {
    const Value object = evaluate(callee.operands[0]);
    const auto* text = object.as<std::string>();
    if (!text) {
      refuse_template(line,
                      "the method '" + callee.text + "' of " + describe(object) + " is not implemented");
    }
    return method(*text, callee.text, arguments_of(expression), line);
  }
  if (callee.kind != Kind::variable) refuse_template(line, "only functions and methods can be called");
  if (callee.text != "raise_exception") {
    refuse_template(line, "the function '" + callee.text + "' is not implemented");
  }
  const std::vector<Value> arguments = arguments_of(expression);
  expect_arguments(arguments, 1, callee.text, line);
  refuse_template(line,
                  "the template refuses the conversation: " + expect_string(arguments, callee.text, line));
}

Value Evaluator::method(const std::string& text, const std::string& name, const std::vector<Value>& arguments,
                        int line) {
  if (name != "strip" && name != "startswith" && name != "split") {
    refuse_template(line, "the method '" + name + "' of a string is not implemented");
  }
  expect_arguments(arguments, 1, name, line);
  if (name == "startswith") return {text.starts_with(expect_string(arguments, name, line))};
  // For the other two, no argument and none mean white space.
  const bool has_argument = !arguments.empty() && !arguments[0].as<Value::None>();
  if (name == "strip") {
    return {std::string(has_argument ? strip_characters(text, expect_string(arguments, name, line))
                                     : strip_white_space(text, Strip::both))};
  }
  if (has_argument && expect_string(arguments, name, line).empty()) {
    refuse_template(line, "'split' with an empty separator");
  }
  std::vector<Value> parts;
  for (std::string& part : split_text(text, has_argument ? arguments[0].as<std::string>() : nullptr)) {
    parts.push_back({std::move(part)});
  }
  return make_list(std::move(parts));
}

}
