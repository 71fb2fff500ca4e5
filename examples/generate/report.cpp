// SPDX-License-Identifier: Apache-2.0
// Formats the report.
#include "generate/report.hpp"

#include <cstdarg>
#include <cstdio>
#include <set>
#include <tuple>

#include "generate/memory_probe.hpp"

namespace generate {
namespace {

// printf into a string: the table's columns are easiest to read as one format.
[[gnu::format(printf, 2, 3)]] void append_line(std::string& text, const char* format, ...) {
  char line[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
  text += '\n';
}

double rate(std::size_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

double milliseconds_each(double seconds, std::size_t count) {
  return count == 0 ? 0 : 1e3 * seconds / static_cast<double>(count);
}

}

double Report::weight_gb_per_s() const {
  return 1e-9 * rate(weight_bytes * answer.steps, answer.seconds_in_linears);
}

Report make_report(const LoadedModel& loaded, Answer answer, const edgeq::ThreadPool& pool) {
  Report report;
  report.model = loaded.name;
  report.activation = loaded.model.blocks.front().qkv.layers.front().activation();
  report.kernel = kernels_of(loaded.model, 1);
  report.threads = pool.concurrency();
  report.load_seconds = loaded.load_seconds;
  report.pack_seconds = loaded.pack_seconds;
  report.peak_memory_bytes = peak_memory_bytes();  // before the probe takes some for itself
  report.weight_bytes = loaded.model.weight_bytes();
  report.probe_gb_per_s = probe_memory_read(pool);
  report.answer = std::move(answer);
  return report;
}

std::string to_table(const Report& r) {
  const Answer& a = r.answer;
  std::string text;
  append_line(text, "%s, %s activations, %s, %zu thread%s", r.model.c_str(), r.activation.c_str(),
              r.kernel.c_str(), r.threads, r.threads == 1 ? "" : "s");
  append_line(text, "  load     %7.2f s, pack %.2f s, peak memory %.0f MB", r.load_seconds, r.pack_seconds,
              1e-6 * static_cast<double>(r.peak_memory_bytes));
  append_line(text, "  prefill  %7.1f tok/s   %4zu tokens in %.1f ms",
              rate(a.prompt_tokens, a.prefill_seconds), a.prompt_tokens, 1e3 * a.prefill_seconds);
  if (a.steps == 0) return text;
  append_line(text, "  decode   %7.1f tok/s   %4zu steps of %.3f ms: linears %.3f, the rest %.3f",
              rate(a.steps, a.decode_seconds), a.steps, milliseconds_each(a.decode_seconds, a.steps),
              milliseconds_each(a.seconds_in_linears, a.steps),
              milliseconds_each(a.decode_seconds - a.seconds_in_linears, a.steps));
  append_line(text,
              "  weights  %7.1f GB/s    %.1f MB a step; %.0f %% of the %.1f GB/s that memory can be read at",
              r.weight_gb_per_s(), 1e-6 * static_cast<double>(r.weight_bytes),
              100 * r.weight_gb_per_s() / r.probe_gb_per_s, r.probe_gb_per_s);
  return text;
}

nlohmann::ordered_json to_json(const Report& r) {
  const Answer& a = r.answer;
  return {{"model", r.model},
          {"activation", r.activation},
          {"kernel", r.kernel},
          {"threads", r.threads},
          {"text", a.text},
          {"tokens", a.tokens},
          {"ended", a.ended},
          {"load_seconds", r.load_seconds},
          {"pack_seconds", r.pack_seconds},
          {"peak_memory_bytes", r.peak_memory_bytes},
          {"prompt_tokens", a.prompt_tokens},
          {"prefill_seconds", a.prefill_seconds},
          {"prefill_tokens_per_second", rate(a.prompt_tokens, a.prefill_seconds)},
          {"decode_steps", a.steps},
          {"decode_seconds", a.decode_seconds},
          {"decode_tokens_per_second", rate(a.steps, a.decode_seconds)},
          {"ms_per_step_linears", milliseconds_each(a.seconds_in_linears, a.steps)},
          {"ms_per_step_rest", milliseconds_each(a.decode_seconds - a.seconds_in_linears, a.steps)},
          {"weight_bytes", r.weight_bytes},
          {"weight_gb_per_s", r.weight_gb_per_s()},
          {"probe_gb_per_s", r.probe_gb_per_s},
          {"probe_fraction", r.probe_gb_per_s > 0 ? r.weight_gb_per_s() / r.probe_gb_per_s : 0}};
}

std::string kernels_of(const Model& model, std::size_t rows) {
  std::set<std::string> names;
  for (const Projection* projection : model.projections())
    for (const edgeq::AnyLinear& layer : projection->layers) names.insert(layer.plan(rows).isa);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " + ") + name;
  return text;
}

std::string explain(const Model& model, std::size_t prompt) {
  std::string text;
  std::set<std::tuple<std::string, std::string, std::size_t, std::size_t>> seen;
  for (const Projection* projection : model.projections())
    for (const edgeq::AnyLinear& layer : projection->layers) {
      if (!seen.emplace(layer.format(), layer.activation(), layer.n(), layer.k()).second) continue;
      text += layer.plan(1).to_string();
      if (prompt != 1) text += layer.plan(prompt).to_string();
    }
  return text;
}

std::string to_text(const nlohmann::ordered_json& object) {
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}
