// SPDX-License-Identifier: Apache-2.0
// How far a model under reduced activations is from the same weights under f32 activations.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generate/decoder.hpp"
#include "generate/model.hpp"

namespace generate {

/// The comparison along the greedy text of the f32 model, which both models are shown token by token.
struct Fidelity {
  std::string prompt;
  std::size_t positions = 0;   ///< tokens of the f32 text
  std::size_t agreements = 0;  ///< positions at which the likeliest tokens are equal
  /// The first position at which they are not: there the greedy texts part. None: the texts are identical.
  std::optional<std::size_t> first_difference;
  double gap = 0;     ///< at the first difference, by how much f32 prefers its token, in logits
  double kl_sum = 0;  ///< of KL(f32 || reduced) over the positions, in nats
  double kl_max = 0;

  double kl_mean() const { return positions == 0 ? 0 : kl_sum / static_cast<double>(positions); }
};

/// Compares `tokens` positions after a prompt; stops after a token for which `ends` is true.
template <class Ends>
Fidelity compare_greedy(Decoder& exact, Decoder& reduced, std::span<const int> prompt, std::size_t tokens,
                        const Ends& ends);

/// Adds one position with the logits of both models; returns the token that f32 prefers.
int add_position(Fidelity& fidelity, std::span<const float> exact, std::span<const float> reduced);

template <class Ends>
Fidelity compare_greedy(Decoder& exact, Decoder& reduced, std::span<const int> prompt, std::size_t tokens,
                        const Ends& ends) {
  exact.reset();
  reduced.reset();
  Fidelity fidelity;
  int token = add_position(fidelity, exact.append(prompt), reduced.append(prompt));
  while (fidelity.positions < tokens && !ends(token))
    token = add_position(fidelity, exact.append({&token, 1}), reduced.append({&token, 1}));
  return fidelity;
}

std::string to_table(std::span<const Fidelity> prompts, const std::string& activation);
nlohmann::ordered_json to_json(std::span<const Fidelity> prompts, const std::string& activation);

/// Perplexity of a text: exp of the mean of -ln p(token) over the tokens that follow another one in their
/// window.
struct Perplexity {
  std::size_t tokens = 0;
  double value = 0;
};

/// Shows the decoder the text window by window, each of `window` tokens that do not overlap, with `prefix`
/// (a beginning-of-text token, or nothing) before each.
Perplexity measure_perplexity(Decoder& decoder, std::span<const int> text, std::span<const int> prefix,
                              std::size_t window);

}
