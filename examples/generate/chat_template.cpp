// SPDX-License-Identifier: Apache-2.0
// The variables of a chat template, and the run from source to text.
#include "generate/chat_template.hpp"

#include <map>
#include <utility>

#include "generate/template_evaluator.hpp"
#include "generate/template_syntax.hpp"
#include "generate/template_value.hpp"

namespace generate {

std::string render_chat(std::string_view template_text, const std::vector<Message>& messages,
                        bool add_generation_prompt, const std::string& bos_token,
                        const std::string& eos_token) {
  std::vector<Value> list;
  list.reserve(messages.size());
  for (const Message& message : messages) {
    list.push_back(make_mapping({{"role", {message.role}}, {"content", {message.content}}}));
  }
  std::map<std::string, Value> globals = {
      {"messages", make_list(std::move(list))},
      {"add_generation_prompt", {add_generation_prompt}},
      {"bos_token", {bos_token}},
      {"eos_token", {eos_token}},
      {"tools", {Value::None{}}},
      {"documents", {Value::None{}}},
  };
  return Evaluator(std::move(globals)).run(parse_template(template_text));
}

}
