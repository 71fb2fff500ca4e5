// SPDX-License-Identifier: Apache-2.0
// verify: two model files, linear by linear, the worst first; or one packed file against its checksums.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "comparison.hpp"
#include "model_file.hpp"
#include "report.hpp"

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Result;
using edgeq::Status;

namespace {

struct Line {
  std::string name, a, b;
  Comparison comparison;
  bool same_bias = true;

  bool exact() const noexcept { return comparison.exact && same_bias; }
};

/// All that two files have in common, and what only one has.
struct Report {
  std::vector<Line> lines;
  std::vector<std::string> missing;    ///< matrices of one file alone
  std::vector<std::string> different;  ///< other tensors that are not equal
  std::size_t equal = 0;               ///< other tensors that are

  std::size_t exact() const {
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [](const Line& l) { return l.exact(); }));
  }
  bool all_exact() const { return exact() == lines.size() && missing.empty() && different.empty(); }
};

/// The item of that name; a head that is tied is its embedding.
const ModelItem* counterpart(const ModelFile& model, const ModelItem& item) {
  const ModelItem* found = model.find(item.name);
  if (found == nullptr && item.role == Role::head) return model.tied_embedding();
  return found;
}

Result<Line> compare_items(const ModelItem& a, const ModelItem& b, const std::string& name,
                           const edgeq::ThreadPool& threads) {
  const edgeq::WeightShape left = a.weights->shape(), right = b.weights->shape();
  if (left.n != right.n || left.k != right.k)
    return Error{ErrorCode::invalid_argument, name + " is " + shape_text({left.n, left.k}) +
                                                  " in one file, " + shape_text({right.n, right.k}) +
                                                  " in the other"};
  const auto x = a.read_bias(), y = b.read_bias();
  if (!x) return x.error();
  if (!y) return y.error();
  return Line{name, a.weights->format(), b.weights->format(), compare(*a.weights, *b.weights, threads),
              *x == *y};
}

Result<Report> compare_models(const ModelFile& a, const ModelFile& b, const edgeq::ThreadPool& threads) {
  Report report;
  Progress progress("comparing");
  std::size_t done = 0;
  for (const ModelItem& item : a.items) {
    progress.show(done++, a.items.size());
    for (const ModelItem* refused : {&item, counterpart(b, item)})
      if (refused != nullptr && !refused->refusal.empty())
        return Error{ErrorCode::unsupported, refused->refusal};
    const ModelItem* other = counterpart(b, item);
    if (item.weights != nullptr) {
      if (other == nullptr || other->weights == nullptr) {
        report.missing.push_back(item.name + " (only in the first)");
        continue;
      }
      auto line = compare_items(item, *other, item.name, threads);
      if (!line) return line.error();
      report.lines.push_back(*std::move(line));
      a.release_pages();
      b.release_pages();
    } else if (item.tensor) {
      const bool is_equal = other != nullptr && other->tensor && other->tensor->type == item.tensor->type &&
                            std::ranges::equal(other->tensor->data, item.tensor->data);
      if (is_equal)
        ++report.equal;
      else
        report.different.push_back(item.name);
    }
  }
  for (const ModelItem& item : b.items) {
    if (item.weights == nullptr || a.find(item.name) != nullptr) continue;
    const ModelItem* tied = counterpart(a, item);  // a head of its own, beside one that is tied
    if (tied == nullptr || tied->weights == nullptr) {
      report.missing.push_back(item.name + " (only in the second)");
      continue;
    }
    auto line = compare_items(*tied, item, item.name, threads);
    if (!line) return line.error();
    report.lines.push_back(*std::move(line));
  }
  std::stable_sort(report.lines.begin(), report.lines.end(),
                   [](const Line& x, const Line& y) { return x.comparison.snr < y.comparison.snr; });
  return report;
}

std::string decibels(double snr) {
  return std::isinf(snr) ? (snr > 0 ? "exact" : "lost") : fixed_text(snr, 2);
}

void print_table(const Report& report) {
  Table table({{"linear"},
               {"first"},
               {"second"},
               {"SNR dB", true},
               {"cosine", true},
               {"worst channel", true},
               {"its SNR dB", true},
               {"bias"}});
  for (const Line& line : report.lines) {
    const Comparison& c = line.comparison;
    table.add({line.name, line.a, line.b, c.exact ? "exact" : decibels(c.snr), fixed_text(c.cosine, 7),
               c.exact ? "" : std::to_string(c.worst), c.exact ? "" : decibels(c.worst_snr),
               line.same_bias ? "" : "differs"});
  }
  std::printf("%s\n%zu of %zu matrices are exact; %zu other tensors are equal, %zu differ or are missing\n",
              table.to_string().c_str(), report.exact(), report.lines.size(), report.equal,
              report.different.size());
  for (const std::string& name : report.missing) std::printf("missing: %s\n", printable(name).c_str());
  for (const std::string& name : report.different)
    std::printf("differs or is missing: %s\n", printable(name).c_str());
}

nlohmann::json json_of(const Report& report) {
  const auto number = [](double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
  };
  auto linears = nlohmann::json::array();
  for (const Line& line : report.lines) {
    const Comparison& c = line.comparison;
    linears.push_back({{"name", line.name},
                       {"first", line.a},
                       {"second", line.b},
                       {"exact", c.exact},
                       {"snr_db", number(c.snr)},
                       {"cosine", number(c.cosine)},
                       {"worst_channel", c.worst},
                       {"worst_snr_db", number(c.worst_snr)},
                       {"same_bias", line.same_bias}});
  }
  return {{"linears", std::move(linears)},
          {"exact", report.exact()},
          {"missing", report.missing},
          {"equal_tensors", report.equal},
          {"different_tensors", report.different}};
}

}

Status verify(const VerifyOptions& options) {
  if (options.b.empty()) {
    if (Status status = verify_checksums(options.a); !status) return status;
    std::printf(options.common.json ? "{\"intact\": true}\n" : "every checksum agrees\n");
    return edgeq::success();
  }
  const auto a = ModelFile::open(options.a), b = ModelFile::open(options.b);
  if (!a) return a.error();
  if (!b) return b.error();
  const edgeq::ThreadPool threads(options.common.thread_count());
  const auto report = compare_models(*a, *b, threads);
  if (!report) return report.error();
  if (report->lines.empty())
    return Error{ErrorCode::invalid_argument,
                 "\"" + options.a + "\" and \"" + options.b + "\" have no linear in common"};
  if (options.common.json)
    std::printf("%s\n",
                json_of(*report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    print_table(*report);
  if (options.exact && !report->all_exact())
    return Error{ErrorCode::invalid_argument,
                 "\"" + options.a + "\" and \"" + options.b + "\" are not equal"};
  return edgeq::success();
}

}
