// SPDX-License-Identifier: Apache-2.0
// The lower half of the template parser: a cursor over tokens and the expressions between them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/template_lexer.hpp"
#include "generate/template_syntax.hpp"

namespace generate {

/// A recursive-descent parser with the precedence of Jinja: one function per level, loosest first.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<TemplateToken> tokens) : tokens_(std::move(tokens)) {}

  /// A whole expression.
  Expression conditional();

  /// An expression that an "if" does not continue, as after "in" of a for.
  Expression logical_or();

 protected:
  /// Counts a level of nesting for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  /// The token `ahead` of the current one; the last one stands for all beyond it.
  const TemplateToken& peek(std::size_t ahead) const;
  const TemplateToken& current() const { return peek(0); }
  TemplateToken take();
  bool is_name(std::string_view text, std::size_t ahead = 0) const;
  bool is_symbol(std::string_view text) const;
  bool take_name(std::string_view text);
  bool take_symbol(std::string_view text);
  void expect_symbol(std::string_view text);
  std::string expect_identifier(std::string_view after);
  [[noreturn]] void refuse(const std::string& message) const { refuse_template(current().line, message); }

  /// To be called where a tag begins: the limit on operators is per tag.
  void begin_tag() { operators_ = 0; }

 private:
  Expression make(Expression::Kind kind, std::vector<Expression> operands, std::string text = {});
  template <class... Operands>
  Expression make_of(Expression::Kind kind, std::string text, Operands... operands);

  Expression logical_and();
  Expression logical_not();
  Expression comparison();
  Expression sum();
  Expression concatenation();
  Expression product();
  Expression unary();
  Expression filters(Expression value);
  Expression test(Expression value);
  Expression operand();
  Expression subscript(Expression value);
  Expression with_arguments(Expression call);
  Expression primary();
  Expression integer(Expression result);
  Expression name(Expression result);

  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  int operators_ = 0;
};

}
