// SPDX-License-Identifier: Apache-2.0
// Softmax, top-p and the draw.
#include "generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace generate {

std::uint64_t RandomGenerator::next() {
  state_ += 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, made odd
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double RandomGenerator::next_fraction() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    throw std::runtime_error("the temperature is " + std::to_string(options.temperature) +
                             ": it must be finite and not negative");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    throw std::runtime_error("top_p is " + std::to_string(options.top_p) +
                             ": it must be above 0 and at most 1");
  }
}

int sample(std::span<const float> logits, Sampler& sampler) {
  int likeliest = -1;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    if (likeliest < 0 || logits[i] > logits[static_cast<std::size_t>(likeliest)])
      likeliest = static_cast<int>(i);
  }
  if (likeliest < 0) {
    throw std::runtime_error("none of the " + std::to_string(logits.size()) + " logits is a number");
  }
  return sampler.options_.temperature == 0 ? likeliest : sampler.choose(logits, likeliest);
}

int Sampler::choose(std::span<const float> logits, int likeliest) {
  const double greatest = logits[static_cast<std::size_t>(likeliest)];
  const double temperature = options_.temperature;
  double total = 0;
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    // The greatest has weight 1 even when it is infinite, where the difference would be NaN.
    const double logit = logits[i];
    const double weight = logit == greatest ? 1 : std::exp((logit - greatest) / temperature);
    if (weight == 0) continue;
    candidates_.push_back({weight, static_cast<int>(i)});
    total += weight;
  }
  if (options_.top_p < 1) total = keep_top(total);
  double left = random_.next_fraction() * total;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return candidates_.back().token;  // only rounding of the sum leads here
}

// Reduces the candidates to the likeliest that together reach top_p; returns their sum. A heap gives them in
// order without sorting the whole vocabulary.
double Sampler::keep_top(double total) {
  const auto is_less_likely = [](const Candidate& a, const Candidate& b) {
    return a.weight < b.weight || (a.weight == b.weight && a.token > b.token);
  };
  std::make_heap(candidates_.begin(), candidates_.end(), is_less_likely);
  const double goal = options_.top_p * total;
  double sum = 0;
  auto heap_end = candidates_.end();
  while (heap_end != candidates_.begin() && sum < goal) {
    std::pop_heap(candidates_.begin(), heap_end, is_less_likely);
    --heap_end;
    sum += heap_end->weight;
  }
  candidates_.erase(candidates_.begin(), heap_end);
  std::reverse(candidates_.begin(), candidates_.end());
  return sum;
}

}
