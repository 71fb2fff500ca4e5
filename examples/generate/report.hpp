// SPDX-License-Identifier: Apache-2.0
// What a run has to say about itself: a table for people, a JSON object for programs.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "generate/session.hpp"

namespace generate {

/// Where a generation ran and how fast.
struct Report {
  std::string model, activation, kernel;
  std::size_t threads = 0;
  double load_seconds = 0, pack_seconds = 0;
  std::size_t peak_memory_bytes = 0;
  std::size_t weight_bytes = 0;  ///< read by one decode step
  double probe_gb_per_s = 0;     ///< at which the memory can be read at best
  Answer answer;

  /// Bytes of weights for each second spent in linears; 0 without a decode step.
  double weight_gb_per_s() const;
};

/// Gathers the fields; measures the memory.
Report make_report(const LoadedModel& loaded, Answer answer, const edgeq::ThreadPool& pool);

std::string to_table(const Report& report);
nlohmann::ordered_json to_json(const Report& report);

/// The names of the kernels that run for `rows` tokens, each once.
std::string kernels_of(const Model& model, std::size_t rows);

/// The plan of every distinct layer for one token and for `prompt` tokens.
std::string explain(const Model& model, std::size_t prompt);

/// The JSON text of an object; bytes that are not UTF-8 become U+FFFD.
std::string to_text(const nlohmann::ordered_json& object);

}
