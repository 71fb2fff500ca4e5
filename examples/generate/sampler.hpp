// SPDX-License-Identifier: Apache-2.0
// Chooses the next token from the model's logits: greedy, or at random by temperature and top-p.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace generate {

/// How tokens are chosen.
struct SamplingOptions {
  float temperature = 0;   ///< 0: always the likeliest token; 1: the model's own distribution
  float top_p = 1;         ///< keep the fewest likeliest tokens whose probabilities add up to this; in (0, 1]
  std::uint64_t seed = 0;  ///< the same seed chooses the same tokens
};

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): the
/// standard's distributions differ between libraries, this gives the same text on every machine.
class RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t seed) : state_(seed) {}

  /// 64 uniform bits.
  std::uint64_t next();

  /// Uniform in [0, 1): a multiple of 2^-53, so exact in double.
  double next_fraction();

 private:
  std::uint64_t state_;
};

/// The options, the generator's state and scratch memory: one per conversation.
class Sampler {
 public:
  /// Throws std::runtime_error if the temperature is not finite and at least 0, or top_p not in (0, 1].
  explicit Sampler(const SamplingOptions& options);

 private:
  friend int sample(std::span<const float> logits, Sampler& sampler);

  struct Candidate {
    double weight;  // the probability, up to a common factor
    int token;
  };
  int choose(std::span<const float> logits, int likeliest);
  double keep_top(double total);

  SamplingOptions options_;
  RandomGenerator random_;
  std::vector<Candidate> candidates_;
};

/// The index of the chosen logit; at temperature 0 the greatest, the lowest index of equals. NaN is never
/// chosen. Probabilities are computed in double: softmax(logits / temperature), of which top_p keeps the
/// likeliest (the lower index of equals first), including the one that reaches the sum. Equal logits and an
/// equal state choose the same token everywhere, up to the last bit of the C library's exp. Throws
/// std::runtime_error if there is no logit that is a number.
int sample(std::span<const float> logits, Sampler& sampler);

}
