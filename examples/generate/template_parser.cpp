// SPDX-License-Identifier: Apache-2.0
// The upper half of the template parser: statements and the blocks they enclose.
#include <algorithm>
#include <array>
#include <utility>

#include "generate/template_expression_parser.hpp"
#include "generate/template_lexer.hpp"
#include "generate/template_syntax.hpp"

namespace generate {
namespace {

using TokenKind = TemplateToken::Kind;

class Parser : private ExpressionParser {
 public:
  explicit Parser(std::string_view source) : ExpressionParser(template_tokens(source)) {}

  std::vector<Statement> run() {
    std::vector<Statement> statements = block({});
    if (current().kind != TokenKind::end) refuse("'" + peek(1).text + "' ends no block that was begun");
    return statements;
  }

 private:
  void expect_tag_end(std::string_view what) {
    if (current().kind != TokenKind::tag_end) {
      refuse("'" + current().text + "' in " + std::string(what) + " is not implemented");
    }
    take();
  }

  // Statements up to a tag that begins with one of `terminators`, which is left to the caller, or the end.
  std::vector<Statement> block(const std::vector<std::string_view>& terminators) {
    const Nesting nesting(*this);
    std::vector<Statement> statements;
    while (current().kind != TokenKind::end) {
      if (current().kind == TokenKind::statement_begin) {
        static constexpr std::array<std::string_view, 4> ends = {"endfor", "endif", "else", "elif"};
        const auto& name = peek(1);
        if (name.kind == TokenKind::name && std::find(ends.begin(), ends.end(), name.text) != ends.end())
          break;
      }
      statements.push_back(statement());
    }
    const bool at_end = current().kind == TokenKind::end;
    if (at_end && !terminators.empty()) refuse("'" + std::string(terminators.back()) + "' is missing");
    if (!at_end && !terminators.empty() &&
        std::find(terminators.begin(), terminators.end(), peek(1).text) == terminators.end()) {
      refuse("'" + peek(1).text + "' where '" + std::string(terminators.back()) + "' is expected");
    }
    return statements;
  }

  Statement statement() {
    Statement result;
    begin_tag();
    const TemplateToken begin = take();
    result.line = begin.line;
    if (begin.kind == TokenKind::text) {
      result.text = begin.text;
    } else if (begin.kind == TokenKind::expression_begin) {
      result.kind = Statement::Kind::output;
      result.expression = conditional();
      expect_tag_end("an expression");
    } else if (take_name("for")) {
      loop(result);
    } else if (take_name("if")) {
      branch(result);
    } else if (take_name("set")) {
      set(result);
    } else {
      refuse("the statement '" + current().text + "' is not implemented");
    }
    return result;
  }

  void loop(Statement& result) {
    result.kind = Statement::Kind::loop;
    do {
      result.names.push_back(expect_identifier("for"));
    } while (take_symbol(","));
    if (!take_name("in")) refuse("'in' expected in 'for', not '" + current().text + "'");
    result.expression = logical_or();
    expect_tag_end("'for'");
    result.body = block({"endfor"});
    end_block();
  }

  void branch(Statement& result) {
    result.kind = Statement::Kind::branch;
    bool is_else = false;
    for (;;) {
      Statement::Arm arm;
      if (!is_else) arm.condition = conditional();
      expect_tag_end("'if'");
      arm.body = is_else ? block({"endif"}) : block({"elif", "else", "endif"});
      result.arms.push_back(std::move(arm));
      if (is_name("endif", 1)) break;
      take();
      is_else = take().text == "else";
      begin_tag();
    }
    end_block();
  }

  void end_block() {
    take();
    const std::string name = take().text;
    expect_tag_end("'" + name + "'");
  }

  void set(Statement& result) {
    result.kind = Statement::Kind::set;
    result.names.push_back(expect_identifier("set"));
    if (!take_symbol("=")) {
      refuse("'set' of anything but one variable by '=' is not implemented: '" + current().text + "' found");
    }
    result.expression = conditional();
    expect_tag_end("'set'");
  }
};

}

std::vector<Statement> parse_template(std::string_view source) {
  return Parser(source).run();
}

}
