// SPDX-License-Identifier: Apache-2.0
// The sampler: greedy choice, the frequencies it draws, where top-p cuts, and what it refuses.
#include "generate/sampler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using generate::RandomGenerator;
using generate::sample;
using generate::Sampler;
using generate::SamplingOptions;

constexpr float nan_logit = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

int greedy(const std::vector<float>& logits) {
  Sampler sampler({});
  return sample(logits, sampler);
}

std::set<int> drawn(const std::vector<float>& logits, const SamplingOptions& options) {
  Sampler sampler(options);
  std::set<int> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(sample(logits, sampler));
  return tokens;
}

TEST(Sampler, ChoosesGreatestAtTemperatureZero) {
  EXPECT_EQ(greedy({1, 3, 2}), 1);
  EXPECT_EQ(greedy({1, 3, 3}), 1);
  EXPECT_EQ(greedy({nan_logit, -5, nan_logit, -4}), 3);
  EXPECT_EQ(greedy({-infinite, -infinite}), 0);
  EXPECT_EQ(greedy({0, infinite, infinite}), 1);
}

// The chance that a chi-square variable with 3 degrees of freedom exceeds x.
double chi_square_3_tail(double x) {
  return std::erfc(std::sqrt(x / 2)) + std::sqrt(2 * x / std::acos(-1.0)) * std::exp(-x / 2);
}

// Pearson's statistic of 100000 draws from 4 tokens: a right sampler exceeds the bound for one seed in a
// million. One that gives a token of probability p <= 0.4 a probability 0.02 off exceeds it almost surely:
// that alone adds 100000 * 0.02^2 / 0.4 = 100 to the statistic, and the bound is 30.7.
void expect_frequencies(const std::vector<float>& logits, const SamplingOptions& options,
                        const std::array<double, 4>& probabilities) {
  constexpr int draws = 100'000;
  Sampler sampler(options);
  std::array<int, 4> counts{};
  for (int i = 0; i < draws; ++i) ++counts.at(static_cast<std::size_t>(sample(logits, sampler)));
  double statistic = 0;
  for (std::size_t token = 0; token < 4; ++token) {
    const double expected = draws * probabilities[token];
    statistic += (counts[token] - expected) * (counts[token] - expected) / expected;
  }
  EXPECT_GT(chi_square_3_tail(statistic), 1e-6) << statistic;
}

TEST(Sampler, DrawsSoftmaxFrequencies) {
  const std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(3.f), std::log(4.f)};
  expect_frequencies(logits, {.temperature = 1, .seed = 1}, {0.1, 0.2, 0.3, 0.4});
  // Temperature 1/2 squares the weights: 1, 4, 9, 16 of 30.
  expect_frequencies(logits, {.temperature = 0.5f, .seed = 2}, {1 / 30., 4 / 30., 9 / 30., 16 / 30.});
  // A common offset changes nothing, even where exp of the logits would overflow.
  const std::vector<float> large = {1000, 1000, 1000, 1000};
  expect_frequencies(large, {.temperature = 1, .seed = 3}, {0.25, 0.25, 0.25, 0.25});
}

TEST(Sampler, DrawsWithinTopP) {
  // Top-p 0.75 of 1, 2, 3, 4, 0.001 keeps 4 and 3 (sum 0.7) and 2, which reaches it: 2, 3, 4 of 9.
  const std::vector<float> logits = {std::log(3.f), std::log(1.f), std::log(4.f), std::log(2.f),
                                     std::log(0.001f)};
  const SamplingOptions options = {.temperature = 1, .top_p = 0.75f, .seed = 4};
  EXPECT_EQ(drawn(logits, options), (std::set<int>{0, 2, 3}));
  Sampler sampler(options);
  int fours = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) fours += sample(logits, sampler) == 2 ? 1 : 0;
  // Five standard deviations of a binomial count.
  EXPECT_NEAR(fours, draws * 4 / 9., 5 * std::sqrt(draws * 4 / 9. * 5 / 9.));
}

TEST(Sampler, CutsTopPAtTheEdge) {
  // Four equal weights of exactly 1: halves and quarters of the sum are exact in double.
  const std::vector<float> equal = {7, 7, 7, 7};
  EXPECT_EQ(drawn(equal, {.temperature = 1, .top_p = 0.5f}), (std::set<int>{0, 1}));
  EXPECT_EQ(drawn(equal, {.temperature = 1, .top_p = std::nextafter(0.5f, 1.f)}), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(drawn(equal, {.temperature = 1, .top_p = 0.25f}), (std::set<int>{0}));
  EXPECT_EQ(drawn(equal, {.temperature = 1, .top_p = 1e-30f}), (std::set<int>{0}));
  EXPECT_EQ(drawn(equal, {.temperature = 1, .top_p = 1}), (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(drawn({1, 2, 9, 3}, {.temperature = 1, .top_p = 0.5f}), (std::set<int>{2}));
}

TEST(Sampler, NeverDrawsNanOrMinusInfinity) {
  EXPECT_EQ(drawn({nan_logit, 0, -infinite, 0, nan_logit}, {.temperature = 2}), (std::set<int>{1, 3}));
  EXPECT_EQ(drawn({nan_logit, 0, -infinite, 0, nan_logit}, {.temperature = 2, .top_p = 0.9f}),
            (std::set<int>{1, 3}));
  EXPECT_EQ(drawn({0, infinite, 5, infinite}, {.temperature = 1}), (std::set<int>{1, 3}));
  EXPECT_EQ(drawn({3, 4}, {.temperature = std::numeric_limits<float>::denorm_min()}), (std::set<int>{1}));
}

TEST(Sampler, RepeatsWithTheSameSeed) {
  // The first outputs of SplitMix64 for seed 0, as published with the reference implementation.
  RandomGenerator random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random.next(), 0x06C45D188009454Fu);

  const std::vector<float> logits(50, 0);
  const auto text = [&](std::uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<int> tokens;
    for (int i = 0; i < 3; ++i) tokens.push_back(sample(logits, sampler));
    return tokens;
  };
  // floor(50 * output / 2^64) of the outputs above: 0xE2 / 256 = 0.883, 0x6E7 / 4096 = 0.432, 0x06C / 4096 =
  // 0.026.
  EXPECT_EQ(text(0), (std::vector<int>{44, 21, 1}));
  EXPECT_NE(text(1), text(0));
}

template <class Function>
std::string refusal(Function function) {
  try {
    function();
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Sampler, Refuses) {
  EXPECT_EQ(refusal([] { greedy({nan_logit, nan_logit}); }), "none of the 2 logits is a number");
  EXPECT_EQ(refusal([] { greedy({}); }), "none of the 0 logits is a number");
  for (float temperature : {-1.f, infinite, nan_logit}) {
    EXPECT_EQ(refusal([&] { Sampler sampler({.temperature = temperature}); }),
              "the temperature is " + std::to_string(temperature) + ": it must be finite and not negative");
  }
  for (float top_p : {0.f, -0.5f, 1.5f, nan_logit}) {
    EXPECT_EQ(refusal([&] { Sampler sampler({.top_p = top_p}); }),
              "top_p is " + std::to_string(top_p) + ": it must be above 0 and at most 1");
  }
}

}
