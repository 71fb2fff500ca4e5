// SPDX-License-Identifier: Apache-2.0
// Chat templates in the styles of six model families, each rule of the language alone, and what is refused.
#include "generate/chat_template.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using generate::Message;
using generate::render_chat;

const std::vector<Message> conversation = {
    {"system", "Be brief."},
    {"user", "  What is \"7 < 8\"?\n"},
    {"assistant", " True. "},
    {"user", "Why, naïve 世界?"},
};

std::string render(const std::string& text) {
  return render_chat(text, conversation, true, "<s>", "</s>");
}

std::string refusal(const std::string& text) {
  try {
    return "not refused: " + render(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

struct Rendered {
  std::string whole_with_prompt;
  std::string without_system_and_prompt;
};

// The expected texts are those of Jinja2 3.1.6 with trim_blocks and lstrip_blocks.
void expect_rendered(const char* text, const Rendered& expected) {
  EXPECT_EQ(render(text), expected.whole_with_prompt);
  const std::vector<Message> shorter(conversation.begin() + 1, conversation.end());
  EXPECT_EQ(render_chat(text, shorter, false, "<s>", "</s>"), expected.without_system_and_prompt);
}

TEST(ChatTemplate, RendersChatML) {
  static constexpr const char* text = R"jinja({% for message in messages %}
{% if loop.first and message['role'] != 'system' %}{{ '<|im_start|>system\nAnswer well.<|im_end|>\n' }}{% endif %}
{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})jinja";
  expect_rendered(text,
                  {"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n  What is \"7 < 8\"?\n"
                   "<|im_end|>\n<|im_start|>assistant\n True. <|im_end|>\n<|im_start|>user\n"
                   "Why, naïve 世界?<|im_end|>\n<|im_start|>assistant\n",
                   "<|im_start|>system\nAnswer well.<|im_end|>\n<|im_start|>user\n  What is \"7 < 8\"?\n"
                   "<|im_end|>\n<|im_start|>assistant\n True. <|im_end|>\n<|im_start|>user\n"
                   "Why, naïve 世界?<|im_end|>\n"});
}

TEST(ChatTemplate, RendersLlama3) {
  static constexpr const char* text = R"jinja({{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if strftime_now is defined %}
    {%- set date = strftime_now("%d %b %Y") %}
{%- else %}
    {%- set date = "26 Jul 2024" %}
{%- endif %}

{#- The first message may be the system's. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{{- "Today: " + date + "\n\n" }}
{%- if tools is not none %}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if message.tool_calls is mapping or message.tool_calls | length != 1 %}
            {{- raise_exception("tool calls are for later") }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)jinja";
  expect_rendered(text, {"<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\n"
                         "Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
                         "What is \"7 < 8\"?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
                         "True.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
                         "Why, naïve 世界?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
                         "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\n"
                         "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
                         "What is \"7 < 8\"?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
                         "True.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
                         "Why, naïve 世界?<|eot_id|>"});
}

TEST(ChatTemplate, RendersMistral) {
  static constexpr const char* text = R"jinja({%- if messages[0]["role"] == "system" %}
  {%- set system_message = messages[0]["content"] %}
  {%- set turns = messages[1:] %}
{%- else %}
  {%- set turns = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in turns %}
  {%- if (message["role"] == "user") != (loop.index0 % 2 == 0) %}
    {{- raise_exception("user and assistant take turns") }}
  {%- endif %}
  {%- if message["role"] == "user" %}
    {%- if loop.last and system_message is defined %}
      {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
    {%- else %}
      {{- "[INST] " ~ message["content"] ~ "[/INST]" }}
    {%- endif %}
  {%- elif message["role"] == "assistant" %}
    {{- " " + message["content"].strip() + eos_token }}
  {%- else %}
    {{- raise_exception("an unknown role") }}
  {%- endif %}
{%- endfor %}
)jinja";
  expect_rendered(text, {"<s>[INST]   What is \"7 < 8\"?\n[/INST] True.</s>[INST] Be brief.\n\n"
                         "Why, naïve 世界?[/INST]",
                         "<s>[INST]   What is \"7 < 8\"?\n[/INST] True.</s>[INST] Why, naïve 世界?[/INST]"});
}

TEST(ChatTemplate, RendersZephyr) {
  static constexpr const char* text = R"jinja({% for message in messages %}
    {# Every turn names its role on a line of its own. #}
    {% if message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
    {% elif message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
    {% else %}
{{ '<|assistant|>\n' + message['content'] + eos_token }}
    {% endif %}
    {% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
    {% endif %}
{% endfor %}
)jinja";
  expect_rendered(text, {"<|system|>\nBe brief.</s>\n<|user|>\n  What is \"7 < 8\"?\n</s>\n<|assistant|>\n"
                         " True. </s>\n<|user|>\nWhy, naïve 世界?</s>\n<|assistant|>\n",
                         "<|user|>\n  What is \"7 < 8\"?\n</s>\n<|assistant|>\n True. </s>\n<|user|>\n"
                         "Why, naïve 世界?</s>\n"});
}

TEST(ChatTemplate, RendersGemma) {
  static constexpr const char* text = R"jinja({{ bos_token }}
{%- if messages[0].role == 'system' -%}
  {%- set prefix = messages[0].content ~ '\n\n' -%}
  {%- set turns = messages[1:] -%}
{%- else -%}
  {%- set prefix = '' -%}
  {%- set turns = messages -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
    {{ raise_exception("user and model take turns") }}
  {%- endif -%}
  {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
  {{ '<start_of_turn>' + role + '\n' + (prefix if loop.first else '') }}
  {%- if message['content'] is string -%}
    {{ message['content'] | trim }}
  {%- else -%}
    {{ raise_exception("content must be text") }}
  {%- endif -%}
  {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{ '<start_of_turn>model\n' }}
{%- endif -%}
)jinja";
  expect_rendered(text, {"<s><start_of_turn>user\nBe brief.\n\nWhat is \"7 < 8\"?<end_of_turn>\n"
                         "<start_of_turn>model\nTrue.<end_of_turn>\n<start_of_turn>user\n"
                         "Why, naïve 世界?<end_of_turn>\n<start_of_turn>model\n",
                         "<s><start_of_turn>user\nWhat is \"7 < 8\"?<end_of_turn>\n<start_of_turn>model\n"
                         "True.<end_of_turn>\n<start_of_turn>user\nWhy, naïve 世界?<end_of_turn>\n"});
}

TEST(ChatTemplate, RendersNumbered) {
  static constexpr const char* text = R"jinja({# A style that leans on line trimming. #}
{% set names = 'A B C'.split() %}
Conversation of {{ messages|length }}:
    {% for m in messages %}
  {{ loop.index }}. {{ m.role|upper }}{{ ' (last)' if loop.last }}: {{ m.content|tojson }}
        {% if m.content[:1] in 'BW' and not loop.first %}
    starts with B or W, ends with {{ m.content[-1] }}
        {% elif m.content.startswith('  ') %}
    was indented, "{{ m.content.strip() }}"
        {% else +%}
    {{- names[loop.index0] | default('none of ' ~ names|length) }}
        {% endif %}
    {% endfor %}
{% if add_generation_prompt %}
reply:
{%- endif %}

)jinja";
  expect_rendered(text,
                  {"Conversation of 4:\n  1. SYSTEM: \"Be brief.\"\nA\n"
                   "  2. USER: \"  What is \\\"7 < 8\\\"?\\n\"\n    was indented, \"What is \"7 < 8\"?\"\n"
                   "  3. ASSISTANT: \" True. \"\nC\n  4. USER (last): \"Why, naïve 世界?\"\n"
                   "    starts with B or W, ends with ?\nreply:",
                   "Conversation of 3:\n  1. USER: \"  What is \\\"7 < 8\\\"?\\n\"\n"
                   "    was indented, \"What is \"7 < 8\"?\"\n  2. ASSISTANT: \" True. \"\nB\n"
                   "  3. USER (last): \"Why, naïve 世界?\"\n    starts with B or W, ends with ?\n"});
}
// Each pair was also given to Jinja2 3.1.6, which agrees.
TEST(ChatTemplate, EvaluatesExpressions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{{ '1' + 2 ~ 3 }}", "123"},  // ~ binds tighter than +
      {"{{ -7 % 3 }} {{ 7 % -3 }}", "2 -2"},
      {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 2 >= 2 }} {{ 'a' <= 'B' }}", "True False True False"},
      {"{{ not 1 == 2 and 0 or 'x' }}", "x"},
      {"{{ 'a' if false else 'b' if none else 'c' }}|{{ 'a' if false }}", "c|"},
      {"{{ messages[-1].role }} {{ messages[4] is defined }}", "user False"},
      {"{{ messages[3].content[5:-2] }}|{{ messages[3].content[-3] }}", "naïve 世|世"},
      {"{{ 'ab'[5:] }}{{ 'abc'[:-9] }}{{ 'abc'[2:1] }}{{ 'abc'[:] }}", "abc"},
      {"{{ messages[1:3]|length }} {{ '世界'|length }} {{ nope|length }}", "2 2 0"},
      {"{{ 'role' in messages[0] }} {{ 'x' not in 'axb' }} {{ '7' in messages[1].content }}",
       "True False True"},
      {"{{ nope is defined }} {{ tools is none }} {{ '' is string }} {{ 1 is not string }}",
       "False True True True"},
      {"{{ nope|default('d') }} {{ ''|default('e', true) }} {{ ''|default('e') }}|", "d e |"},
      {"{{ ' a b '|trim ~ '.' }} {{ 'aB'|upper }} {{ 'aB'|lower }}", "a b. AB ab"},
      {R"({{ 'q"\\\n\té' | tojson }} {{ '<&\'>' | tojson }})", R"("q\"\\\n\té" "<&'>")"},
      {"{{ 'xaxbx'.strip('xb') }} {{ ' a  b '.split()[1] }} {{ 'a,,b'.split(',')|length }}", "a b 3"},
      {"{{ 'abc'.startswith('ab') }} {{ 'a' 'b' \"c\" }} {{ None }} {{ True }}", "True abc None True"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(render(text), expected) << text;
}

TEST(ChatTemplate, ControlsWhitespace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\n  {% set x = 1 %}\nb", "a\nb"},        // trim_blocks and lstrip_blocks
      {"a {% set x = 1 %}\n\nb", "a \nb"},        // not alone on its line; one newline goes
      {"a\n  {%+ set x = 1 +%}\nb", "a\n  \nb"},  // + keeps both
      {"a \n\n {%- set x = 1 -%} \n b", "ab"},    // - takes all
      {"a\n  {{ 1 }}\nb", "a\n  1\nb"},           // expressions keep theirs
      {"a {{- 1 -}} \n b", "a1b"},
      {"a\n {# c #}\nb{#- d -#}  c", "a\nbc"},
      {"a\r\nb\rc\n", "a\nb\nc"},  // line ends; the last one goes
      {"{ a }} %} {{ '}}' }}", "{ a }} %} }}"},
      {"{% if true %}\n  {% if true %}\nx\n  {% endif %}\n{% endif %}", "x\n"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(render(text), expected) << text;
}

TEST(ChatTemplate, ScopesVariables) {
  EXPECT_EQ(render("{% set x = 1 %}{% for m in messages %}{{ x }}{% set x = 2 %}{{ x }},{% endfor %}{{ x }}"),
            "12,12,12,12,1");
  EXPECT_EQ(render("{% if true %}{% set x = 1 %}{% endif %}{{ x }}"), "1");
  EXPECT_EQ(render("{% for a in 'ab' %}{% for b in 'xy' %}{{ loop.index0 }}{% endfor %}"
                   "{{ loop.index }}{{ loop.first }}{{ loop.last }} {% endfor %}{{ a }}"),
            "011TrueFalse 012FalseTrue ");
}

TEST(ChatTemplate, RefusesByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{% macro f() %}{% endmacro %}", "line 1: the statement 'macro' is not implemented"},
      {"\n{{ strftime_now('%Y') }}", "line 2: the function 'strftime_now' is not implemented"},
      {"{% set ns = namespace(x=1) %}", "the function 'namespace' is not implemented"},
      {"{% set ns.x = 1 %}", "'.' found"},
      {"{% for a in messages if a.role == 'user' %}{% endfor %}", "'if' in 'for' is not implemented"},
      {"{% for a in messages %}{% else %}{% endfor %}", "'else' where 'endfor' is expected"},
      {"{% for a, b in messages %}{% endfor %}", "'for' with several variables is not implemented"},
      {"{{ [1] }}", "a list literal is not implemented"},
      {"{{ {'a': 1} }}", "a dictionary literal is not implemented"},
      {"{{ (1, 2) }}", "a tuple is not implemented"},
      {"{{ messages[::2] }}", "a slice with a step is not implemented"},
      {"{{ 2 * 3 }}", "the operator '*' is not implemented"},
      {"{{ 1.5 }}", "a floating-point literal"},
      {"{{ 'a'|indent }}", "the filter 'indent' is not implemented"},
      {"{{ 'a'|tojson(indent=4) }}", "the named argument 'indent' is not implemented"},
      {"{{ messages|tojson }}", "'tojson' of a list is not implemented"},
      {"{{ 'é'|upper }}", "the filter 'upper' is implemented for ASCII text only"},
      {"{{ 'a' is mapping }}", "the test 'mapping' is not implemented"},
      {"{{ 'a'.title() }}", "the method 'title' of a string is not implemented"},
      {"{{ messages[0].items() }}", "the method 'items' of a mapping is not implemented"},
      {"{{ messages }}", "output of a list is not implemented"},
      {"{% for a in messages %}{{ loop.previtem }}{% endfor %}", "'loop.previtem' is not implemented"},
      {"{{ nope.name }}", "'name' of an undefined value (nope)"},
      {"{{ 'a' + nope }}", "'+' between a string and an undefined value (nope) is not possible"},
      {"{{ 1 + 'a' }}", "'+' between an integer and a string is not possible"},
      {"{{ 1 % 0 }}", "'%' by zero"},
      {"{{ 9223372036854775807 + 1 }}", "does not fit 64 bits"},
      {"{{ 9223372036854775808 }}", "does not fit 64 bits"},
      {"{% if true %}", "'endif' is missing"},
      {"a{% endfor %}", "'endfor' ends no block that was begun"},
      {"{{ 'a }}", "a string literal is not closed"},
      {"{{ 'a' ", "a tag is not closed"},
      {"{# a", "a comment '{#' is not closed"},
      {"{{ a b }}", "'b' in an expression is not implemented"},
      {R"({{ '\x41' }})", "the escape '\\x' in a string"},
      {"{{ raise_exception('no ' + 'system') }}", "the template refuses the conversation: no system"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(refusal(text).find(expected), std::string::npos) << text << "\n" << refusal(text);
  }
}

// Tool branches that a plain conversation does not enter must not stand in its way.
TEST(ChatTemplate, ChecksNamesOnlyWhereReached) {
  EXPECT_EQ(render("{% if tools %}{% for k, v in tools|items %}{{ v|tojson(indent=2) }}{{ f(k) }}{% endfor %}"
                   "{% elif false and messages is iterable %}{% else %}plain{% endif %}"),
            "plain");
}

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(ChatTemplate, BoundsHostileTemplates) {
  const std::string deep = repeat("(", 100000) + "1" + repeat(")", 100000);
  EXPECT_NE(refusal("{{ " + deep + " }}").find("levels of nesting"), std::string::npos);
  EXPECT_NE(refusal(repeat("{% if true %}", 100000)).find("levels of nesting"), std::string::npos);
  EXPECT_NE(refusal("{{ 1" + repeat(" + 1", 100000) + " }}").find("operators in one expression"),
            std::string::npos);
  EXPECT_NE(refusal("{{ " + repeat("not ", 100000) + "1 }}").find("operators in one expression"),
            std::string::npos);
  // 2^64 characters
  EXPECT_NE(refusal("{% set x = 'a' %}" + repeat("{% set x = x ~ x %}", 64)).find("2^26 steps"),
            std::string::npos);
  // Just within the limits: the tree is walked to its full depth.
  EXPECT_EQ(render("{{ 1" + repeat(" + 1", 500) + " }}"), "501");
  EXPECT_EQ(render("{{ " + repeat("(", 60) + "1" + repeat(")", 60) + " }}"), "1");
}

}
