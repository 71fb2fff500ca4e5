// SPDX-License-Identifier: Apache-2.0
// Turns a conversation into the text that a model was trained on, by the Jinja template in its file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// One turn of a conversation.
struct Message {
  std::string role;     ///< "system", "user", "assistant", or what else the template knows
  std::string content;  ///< UTF-8
};

/// The text that `template_text` (tokenizer.chat_template of a GGUF file) makes of `messages`.
///
/// The template sees what transformers' apply_chat_template shows it: messages, add_generation_prompt,
/// bos_token, eos_token, and tools and documents as none; trim_blocks and lstrip_blocks are on. The part of
/// Jinja that chat templates of the Llama family use is understood:
///  - statements: for (with loop.first, last, index, index0, length), if, elif, else, set, comments,
///    whitespace control;
///  - literals: strings, integers, true, false, none;
///  - operators: . [] [:] + - % ~ == != < > <= >= in, not in, and, or, not, if-else;
///  - tests: defined, undefined, none, string;
///  - filters: trim, length, upper and lower (ASCII), default, tojson (strings);
///  - methods of strings: strip, startswith, split;
///  - the function raise_exception.
/// All else is refused: std::runtime_error names the construct and its line. Grammar is checked in the whole
/// template, names of filters, tests, methods and functions where they are reached, because many templates
/// carry branches for tools that a plain conversation never enters.
///
/// A template comes from a model file, so its work is bounded: see `Evaluator`.
std::string render_chat(std::string_view template_text, const std::vector<Message>& messages,
                        bool add_generation_prompt, const std::string& bos_token,
                        const std::string& eos_token);

}
