// SPDX-License-Identifier: Apache-2.0
// inspect: every tensor of a model file, how it is stored, and the edgeq format that holds it exactly.
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "model_file.hpp"
#include "plans.hpp"
#include "report.hpp"

namespace tool {

namespace {

/// An item as inspect sees it.
struct Line {
  const ModelItem* item;
  std::size_t elements = 1;
  double bits = 0.0;  ///< as it is stored, of one element
  std::string format = {};
  std::size_t packed_bytes = 0;
  std::string remark = {};
};

Line line_of(const ModelItem& item) {
  Line line{.item = &item, .remark = item.remark};
  for (const std::size_t extent : item.shape) line.elements *= extent;
  if (line.elements != 0)
    line.bits = 8.0 * static_cast<double>(item.stored_bytes) / static_cast<double>(line.elements);
  line.format = "kept as it is";
  line.packed_bytes = item.stored_bytes;
  if (item.weights != nullptr) {
    line.format = item.weights->format();
    const auto bytes = item.weights->packed_bytes();
    line.packed_bytes = bytes ? *bytes : 0;
    if (!bytes) line.remark = bytes.error().message;
  } else if (!item.refusal.empty()) {
    line.format = "refused";
    line.packed_bytes = 0;
    line.remark = item.refusal;
  }
  return line;
}

struct Totals {
  std::size_t linears = 0, refused = 0, weights = 0, stored = 0, packed = 0, kept = 0;

  void add(const Line& line) {
    if (line.format == "refused") {
      ++refused;
    } else if (line.item->weights == nullptr) {
      kept += line.item->stored_bytes;
    } else {
      ++linears;
      weights += line.elements;
      stored += line.item->stored_bytes;
      packed += line.packed_bytes;
    }
  }
  double bits(std::size_t bytes) const {
    return weights == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(weights);
  }
};

void print_table(const ModelFile& model, const std::vector<Line>& lines, const Totals& totals) {
  Table table(
      {{"name"}, {"shape"}, {"stored"}, {"bits", true}, {"edgeq format"}, {"packed", true}, {"remark"}});
  for (const Line& line : lines)
    table.add({line.item->name, shape_text(line.item->shape), line.item->stored, fixed_text(line.bits, 2),
               line.format, size_text(static_cast<double>(line.packed_bytes)), line.remark});
  std::printf("%s\n", table.to_string().c_str());
  std::printf("quantization: %s\n", model.method.c_str());
  std::printf("%zu matrices, %zu weights: stored in %s (%.2f bits each), packed in %s (%.2f bits each)\n",
              totals.linears, totals.weights, size_text(static_cast<double>(totals.stored)).c_str(),
              totals.bits(totals.stored), size_text(static_cast<double>(totals.packed)).c_str(),
              totals.bits(totals.packed));
  std::printf("other tensors: %s\n", size_text(static_cast<double>(totals.kept)).c_str());
  if (totals.refused != 0) std::printf("refused: %zu\n", totals.refused);
  if (model.is_tied) std::printf("the head is tied: it shares the weights of the embedding\n");
}

nlohmann::json json_of(const ModelFile& model, const std::vector<Line>& lines, const Totals& totals) {
  auto tensors = nlohmann::json::array();
  for (const Line& line : lines) {
    nlohmann::json entry = {{"name", line.item->name},          {"shape", line.item->shape},
                            {"stored", line.item->stored},      {"stored_bytes", line.item->stored_bytes},
                            {"bits_per_weight", line.bits},     {"format", line.format},
                            {"packed_bytes", line.packed_bytes}};
    if (!line.remark.empty()) entry["remark"] = line.remark;
    if (line.item->bias) entry["bias"] = true;
    tensors.push_back(std::move(entry));
  }
  return {{"quantization", model.method},  {"tied", model.is_tied},         {"tensors", std::move(tensors)},
          {"matrices", totals.linears},    {"refused", totals.refused},     {"weights", totals.weights},
          {"stored_bytes", totals.stored}, {"packed_bytes", totals.packed}, {"other_bytes", totals.kept}};
}

}

edgeq::Status inspect(const InspectOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  const auto model = ModelFile::open(options.in);
  if (!model) return model.error();
  const std::chrono::duration<double, std::milli> opening = std::chrono::steady_clock::now() - started;
  std::vector<Line> lines;
  Totals totals;
  std::map<std::string, std::string> plans;
  for (const ModelItem& item : model->items) {
    lines.push_back(line_of(item));
    totals.add(lines.back());
    const Line& line = lines.back();
    if (options.plan && item.weights != nullptr && !plans.contains(line.format))
      plans[line.format] = plan_text(line.format, item.weights->shape(), line.packed_bytes);
  }
  if (options.common.json) {
    auto json = json_of(*model, lines, totals);
    json["opened_in_ms"] = opening.count();
    if (options.plan) json["plans"] = plans;
    std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    print_table(*model, lines, totals);
    std::printf("opened in %.1f ms\n", opening.count());
    for (const auto& [format, plan] : plans) std::printf("\n%s: %s", format.c_str(), plan.c_str());
  }
  return edgeq::success();
}

}
