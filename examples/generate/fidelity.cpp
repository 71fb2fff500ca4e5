// SPDX-License-Identifier: Apache-2.0
// Divergences of next-token distributions, in double.
#include "generate/fidelity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace generate {
namespace {

int greatest(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// ln of the sum of exp(logit).
double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum);
}

// KL(p || q) of the softmaxes of two rows of logits, in nats. Rounding may leave a tiny negative number.
double divergence(std::span<const float> p, std::span<const float> q) {
  const double log_p_total = log_sum_exp(p), log_q_total = log_sum_exp(q);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - log_p_total, log_q = q[i] - log_q_total;
    sum += std::exp(log_p) * (log_p - log_q);
  }
  return std::max(sum, 0.0);
}

Fidelity total_of(std::span<const Fidelity> prompts) {
  Fidelity total;
  for (const Fidelity& f : prompts) {
    total.positions += f.positions;
    total.agreements += f.agreements;
    total.kl_sum += f.kl_sum;
    total.kl_max = std::max(total.kl_max, f.kl_max);
  }
  return total;
}

std::size_t identical_texts(std::span<const Fidelity> prompts) {
  return static_cast<std::size_t>(
      std::count_if(prompts.begin(), prompts.end(), [](const Fidelity& f) { return !f.first_difference; }));
}

}

int add_position(Fidelity& fidelity, std::span<const float> exact, std::span<const float> reduced) {
  const int wanted = greatest(exact), found = greatest(reduced);
  if (found == wanted) {
    ++fidelity.agreements;
  } else if (!fidelity.first_difference) {
    fidelity.first_difference = fidelity.positions;
    fidelity.gap = exact[static_cast<std::size_t>(wanted)] - exact[static_cast<std::size_t>(found)];
  }
  const double kl = divergence(exact, reduced);
  fidelity.kl_sum += kl;
  fidelity.kl_max = std::max(fidelity.kl_max, kl);
  ++fidelity.positions;
  return wanted;
}

std::string to_table(std::span<const Fidelity> prompts, const std::string& activation) {
  std::string text;
  const auto add_row = [&](const char* agreement, const char* difference, const Fidelity& f,
                           const std::string& name) {
    char line[256];
    std::snprintf(line, sizeof line, "  %-10s %-22s %9.2e %9.2e  ", agreement, difference, f.kl_mean(),
                  f.kl_max);
    text += line + name + "\n";
  };
  text += activation + " activations against f32, greedy\n";
  text += "  same token first difference        KL mean    KL max  prompt\n";
  for (const Fidelity& f : prompts) {
    char agreement[32], difference[64] = "none";
    std::snprintf(agreement, sizeof agreement, "%zu/%zu", f.agreements, f.positions);
    if (f.first_difference)
      std::snprintf(difference, sizeof difference, "at %zu, f32 gap %.4f", *f.first_difference, f.gap);
    add_row(agreement, difference, f, f.prompt);
  }
  const Fidelity total = total_of(prompts);
  char agreement[32], identical[64];
  std::snprintf(agreement, sizeof agreement, "%zu/%zu", total.agreements, total.positions);
  std::snprintf(identical, sizeof identical, "%zu of %zu identical", identical_texts(prompts),
                prompts.size());
  add_row(agreement, identical, total, "all");
  return text;
}

nlohmann::ordered_json to_json(std::span<const Fidelity> prompts, const std::string& activation) {
  const auto fields = [](const Fidelity& f) {
    return nlohmann::ordered_json{{"positions", f.positions},
                                  {"agreements", f.agreements},
                                  {"kl_mean", f.kl_mean()},
                                  {"kl_max", f.kl_max}};
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Fidelity& f : prompts) {
    nlohmann::ordered_json one = {{"prompt", f.prompt}};
    one.update(fields(f));
    one["first_difference"] = nullptr;
    if (f.first_difference) one["first_difference"] = {{"position", *f.first_difference}, {"f32_gap", f.gap}};
    list.push_back(std::move(one));
  }
  nlohmann::ordered_json all = {{"activation", activation}};
  all.update(fields(total_of(prompts)));
  all["identical_texts"] = identical_texts(prompts);
  all["prompts"] = std::move(list);
  return all;
}

Perplexity measure_perplexity(Decoder& decoder, std::span<const int> text, std::span<const int> prefix,
                              std::size_t window) {
  constexpr std::size_t chunk_size = 64;  // rows of logits that are kept at once
  Perplexity result;
  double sum = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += window) {
    std::vector<int> tokens(prefix.begin(), prefix.end());
    const auto part = text.subspan(begin, std::min(window, text.size() - begin));
    tokens.insert(tokens.end(), part.begin(), part.end());
    decoder.reset();
    for (std::size_t i = 0; i + 1 < tokens.size(); i += chunk_size) {
      const std::size_t count = std::min(chunk_size, tokens.size() - 1 - i);
      const auto logits = decoder.append_with_all_logits({&tokens[i], count});
      for (std::size_t row = 0; row < count; ++row) {
        const std::span<const float> p(logits.row(row), logits.columns);
        sum += log_sum_exp(p) - p[static_cast<std::size_t>(tokens[i + row + 1])];
        ++result.tokens;
      }
    }
  }
  result.value = result.tokens == 0 ? 0 : std::exp(sum / static_cast<double>(result.tokens));
  return result;
}

}
