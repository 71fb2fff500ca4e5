// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a chat template: what the parser builds and the evaluator walks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// An expression; `operands` and `text` mean what its kind says.
struct Expression {
  enum class Kind : std::uint8_t {
    absent,       ///< an operand that the template leaves out
    string,       ///< text
    integer,      ///< integer
    boolean,      ///< integer, 0 or 1
    none,         ///< the literal none
    variable,     ///< the variable named text
    attribute,    ///< operand 0 . text
    item,         ///< operand 0 [ operand 1 ]
    slice,        ///< operand 0 [ operand 1 : operand 2 ]
    call,         ///< operand 0 ( the others )
    keyword,      ///< text = operand 0, among the arguments of a call or filter
    filter,       ///< operand 0 | text ( the others )
    test,         ///< operand 0 is text
    negative,     ///< - operand 0
    logical_not,  ///< not operand 0
    logical_and,  ///< operand 0 and operand 1
    logical_or,   ///< operand 0 or operand 1
    comparison,   ///< operands[i] operators[i] operands[i + 1], for all i
    arithmetic,   ///< operand 0 text operand 1, text one of + - %
    concatenate,  ///< operand 0 ~ operand 1
    conditional,  ///< operand 1 if operand 0 else operand 2
  };
  Kind kind = Kind::absent;
  int line = 1;
  std::string text;
  std::int64_t integer = 0;
  std::vector<Expression> operands;
  std::vector<std::string> operators;
};

/// A statement; which members count is what its kind says.
struct Statement {
  enum class Kind : std::uint8_t {
    text,    ///< text is output as it stands
    output,  ///< expression is output
    set,     ///< names[0] becomes expression
    loop,    ///< body runs for each element of expression, called names[0]
    branch,  ///< the body of the first arm whose condition holds runs
  };
  struct Arm;
  Kind kind = Kind::text;
  int line = 1;
  std::string text;
  std::vector<std::string> names;
  Expression expression;
  std::vector<Statement> body;
  std::vector<Arm> arms;
};

/// One of if, elif and else; the condition of else is absent.
struct Statement::Arm {
  Expression condition;
  std::vector<Statement> body;
};

/// The statements of a template. Throws std::runtime_error that names what is not understood. Nesting and
/// the length of an expression are bounded, so that walking the tree cannot exhaust the stack.
std::vector<Statement> parse_template(std::string_view source);

}
