// SPDX-License-Identifier: Apache-2.0
// The grammar of expressions, and the limits that keep a hostile template from exhausting the stack.
#include "generate/template_expression_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace generate {
namespace {

using Kind = Expression::Kind;
using TokenKind = TemplateToken::Kind;

// Real templates stay below 10 and 50. A level of nesting costs some ten stack frames while parsing, an
// operator one while evaluating: together they stay within a stack of 1 MB.
constexpr int max_nesting = 64;
constexpr int max_operators = 512;

}

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ > max_nesting) {
    parser_.refuse("more than " + std::to_string(max_nesting) + " levels of nesting");
  }
}

const TemplateToken& ExpressionParser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

TemplateToken ExpressionParser::take() {
  TemplateToken token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::is_name(std::string_view text, std::size_t ahead) const {
  return peek(ahead).kind == TokenKind::name && peek(ahead).text == text;
}

bool ExpressionParser::is_symbol(std::string_view text) const {
  return current().kind == TokenKind::symbol && current().text == text;
}

bool ExpressionParser::take_name(std::string_view text) {
  if (!is_name(text)) return false;
  take();
  return true;
}

bool ExpressionParser::take_symbol(std::string_view text) {
  if (!is_symbol(text)) return false;
  take();
  return true;
}

void ExpressionParser::expect_symbol(std::string_view text) {
  if (!take_symbol(text)) refuse("'" + std::string(text) + "' expected before '" + current().text + "'");
}

std::string ExpressionParser::expect_identifier(std::string_view after) {
  if (current().kind != TokenKind::name) {
    refuse("a name expected after '" + std::string(after) + "', not '" + current().text + "'");
  }
  return take().text;
}
Expression ExpressionParser::make(Kind kind, std::vector<Expression> operands, std::string text) {
  if (++operators_ > max_operators) {
    refuse("more than " + std::to_string(max_operators) + " operators in one expression");
  }
  return {kind, current().line, std::move(text), 0, std::move(operands), {}};
}

template <class... Operands>
Expression ExpressionParser::make_of(Kind kind, std::string text, Operands... operands) {
  std::vector<Expression> list;
  (list.push_back(std::move(operands)), ...);
  return make(kind, std::move(list), std::move(text));
}

Expression ExpressionParser::conditional() {
  const Nesting nesting(*this);
  Expression value = logical_or();
  while (take_name("if")) {
    Expression condition = logical_or();
    Expression otherwise = take_name("else") ? conditional() : Expression{};
    value = make_of(Kind::conditional, "", std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

Expression ExpressionParser::logical_or() {
  Expression left = logical_and();
  while (take_name("or")) left = make_of(Kind::logical_or, "", std::move(left), logical_and());
  return left;
}

Expression ExpressionParser::logical_and() {
  Expression left = logical_not();
  while (take_name("and")) left = make_of(Kind::logical_and, "", std::move(left), logical_not());
  return left;
}

Expression ExpressionParser::logical_not() {
  int count = 0;
  while (take_name("not")) ++count;
  Expression value = comparison();
  for (; count > 0; --count) value = make_of(Kind::logical_not, "", std::move(value));
  return value;
}

Expression ExpressionParser::comparison() {
  Expression first = sum();
  std::vector<Expression> operands;
  std::vector<std::string> operators;
  operands.push_back(std::move(first));
  for (;;) {
    static constexpr std::array<std::string_view, 6> symbols = {"==", "!=", "<", ">", "<=", ">="};
    const bool is_operator = current().kind == TokenKind::symbol &&
                             std::find(symbols.begin(), symbols.end(), current().text) != symbols.end();
    if (is_operator || is_name("in")) {
      operators.push_back(take().text);
    } else if (is_name("not") && is_name("in", 1)) {
      take();
      take();
      operators.emplace_back("not in");
    } else {
      break;
    }
    operands.push_back(sum());
  }
  if (operators.empty()) return std::move(operands[0]);
  Expression result = make(Kind::comparison, std::move(operands));
  result.operators = std::move(operators);
  return result;
}

Expression ExpressionParser::sum() {
  Expression left = concatenation();
  while (is_symbol("+") || is_symbol("-")) {
    const std::string symbol = take().text;
    left = make_of(Kind::arithmetic, symbol, std::move(left), concatenation());
  }
  return left;
}

Expression ExpressionParser::concatenation() {
  Expression left = product();
  while (take_symbol("~")) left = make_of(Kind::concatenate, "", std::move(left), product());
  return left;
}

Expression ExpressionParser::product() {
  Expression left = unary();
  while (take_symbol("%")) left = make_of(Kind::arithmetic, "%", std::move(left), unary());
  for (std::string_view symbol : {"*", "/", "//", "**"}) {
    if (is_symbol(symbol)) refuse("the operator '" + std::string(symbol) + "' is not implemented");
  }
  return left;
}

// As in Jinja, a filter after a negative number applies to the negative number.
Expression ExpressionParser::unary() {
  return filters(take_symbol("-") ? make_of(Kind::negative, "", operand()) : operand());
}

Expression ExpressionParser::operand() {
  Expression value = primary();
  for (;;) {
    if (take_symbol(".")) {
      value = make_of(Kind::attribute, expect_identifier("."), std::move(value));
    } else if (take_symbol("[")) {
      value = subscript(std::move(value));
    } else if (is_symbol("(")) {
      value = with_arguments(make_of(Kind::call, "", std::move(value)));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::subscript(Expression value) {
  Expression start = is_symbol(":") ? Expression{} : conditional();
  if (!take_symbol(":")) {
    expect_symbol("]");
    return make_of(Kind::item, "", std::move(value), std::move(start));
  }
  Expression stop = is_symbol("]") || is_symbol(":") ? Expression{} : conditional();
  if (is_symbol(":")) refuse("a slice with a step is not implemented");
  expect_symbol("]");
  return make_of(Kind::slice, "", std::move(value), std::move(start), std::move(stop));
}

Expression ExpressionParser::with_arguments(Expression call) {
  if (!take_symbol("(")) return call;
  while (!take_symbol(")")) {
    const bool is_keyword =
        current().kind == TokenKind::name && peek(1).kind == TokenKind::symbol && peek(1).text == "=";
    const std::string name = is_keyword ? take().text : std::string();
    if (is_keyword) take();
    Expression argument = conditional();
    call.operands.push_back(is_keyword ? make_of(Kind::keyword, name, std::move(argument))
                                       : std::move(argument));
    if (!take_symbol(",") && !is_symbol(")")) refuse("')' expected before '" + current().text + "'");
  }
  return call;
}

Expression ExpressionParser::filters(Expression value) {
  for (;;) {
    if (take_symbol("|")) {
      const std::string name = expect_identifier("|");
      value = with_arguments(make_of(Kind::filter, name, std::move(value)));
    } else if (take_name("is")) {
      value = test(std::move(value));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::test(Expression value) {
  const bool is_negated = take_name("not");
  const std::string name = expect_identifier("is");
  if (is_symbol("(") || current().kind == TokenKind::string || current().kind == TokenKind::integer) {
    refuse("the test '" + name + "' with an argument is not implemented");
  }
  Expression result = make_of(Kind::test, name, std::move(value));
  return is_negated ? make_of(Kind::logical_not, "", std::move(result)) : result;
}

Expression ExpressionParser::primary() {
  Expression result{Kind::string, current().line, {}, 0, {}, {}};
  if (current().kind == TokenKind::string) {
    // Jinja joins adjacent literals.
    while (current().kind == TokenKind::string) result.text += take().text;
    return result;
  }
  if (current().kind == TokenKind::integer) return integer(std::move(result));
  if (current().kind == TokenKind::name) return name(std::move(result));
  if (is_symbol("[")) refuse("a list literal is not implemented");
  if (is_symbol("{")) refuse("a dictionary literal is not implemented");
  if (!take_symbol("(")) refuse("a value expected, not '" + current().text + "'");
  result = conditional();
  if (is_symbol(",")) refuse("a tuple is not implemented");
  expect_symbol(")");
  return result;
}

Expression ExpressionParser::integer(Expression result) {
  const std::string digits = current().text;
  result.kind = Kind::integer;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), result.integer);
  if (parsed.ec != std::errc()) refuse("the integer " + digits + " does not fit 64 bits");
  take();
  return result;
}

Expression ExpressionParser::name(Expression result) {
  result.text = take().text;
  const std::string& text = result.text;
  result.kind = Kind::variable;
  if (text == "none" || text == "None") result.kind = Kind::none;
  if (text == "true" || text == "True" || text == "false" || text == "False") {
    result.kind = Kind::boolean;
    result.integer = text == "true" || text == "True" ? 1 : 0;
  }
  return result;
}

}
