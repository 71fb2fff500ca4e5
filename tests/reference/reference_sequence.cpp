// SPDX-License-Identifier: Apache-2.0
// The formulas of the Llama and Gemma 3 architectures, one function each, in double.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "reference/reference_model.hpp"

// Picks the widest vectors of the processor when the program starts, so that the build needs no flag.
#if defined(__x86_64__) && defined(__linux__)
#define REFERENCE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define REFERENCE_CLONES
#endif

namespace reference {
namespace {

using Rows = std::vector<double>;

// Sixteen independent sums, of which each is a lane of a vector: no reassociation is needed to use them.
REFERENCE_CLONES double dot(const float* weights, const double* x, std::size_t count) {
  constexpr std::size_t lanes = 16;
  double sums[lanes] = {};
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    for (std::size_t i = 0; i < lanes; ++i) sums[i] += static_cast<double>(weights[k + i]) * x[k + i];
  }
  double sum = 0;
  for (; k < count; ++k) sum += static_cast<double>(weights[k]) * x[k];
  for (const double lane : sums) sum += lane;
  return sum;
}

// y[m, n] = sum over k of w[n, k] * x[m, k]; a row of w is used for all m while it is in the cache.
Rows multiply(const Matrix& w, const Rows& x) {
  const std::size_t count = x.size() / w.columns;
  Rows y(count * w.rows);
  for (std::size_t n = 0; n < w.rows; ++n) {
    const float* weights = w.values.data() + n * w.columns;
    for (std::size_t m = 0; m < count; ++m) y[m * w.rows + n] = dot(weights, &x[m * w.columns], w.columns);
  }
  return y;
}

// RMSNorm: each row divided by the root of its mean square, then scaled. A model without this norm has an
// empty scale, and x stays as it is.
Rows normalize(const Matrix& scale, double epsilon, const Rows& x) {
  if (scale.rows == 0) return x;
  const std::size_t width = scale.columns;
  Rows y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (std::size_t k = 0; k < width; ++k) squares += x[row + k] * x[row + k];
    const double root = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t k = 0; k < width; ++k)
      y[row + k] = x[row + k] / root * static_cast<double>(scale.values[k]);
  }
  return y;
}

void add_to(Rows& sum, const Rows& addend) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += addend[i];
}

// Replaces scores by exp(score) / sum of exp; the greatest is subtracted first so that none overflows.
void softmax(Rows& scores) {
  const double greatest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - greatest);
  for (double& score : scores) score /= sum;
}

}

Sequence::Sequence(const Model& model)
    : model_(&model), keys_(model.layers.size()), values_(model.layers.size()) {}

// RoPE: pair i turns by position * base^(-2i / rotated). GGUF stores the rows of Llama's attn_q and attn_k so
// that pairs are neighbours; in Gemma's they are half of the rotated elements apart.
void Sequence::rotate(const Layer& layer, std::span<double> head, std::size_t position) const {
  const std::size_t pairs = model_->rotated / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(model_->rotated);
    const double angle = static_cast<double>(position) * std::pow(layer.rope_base, exponent);
    double& a = head[model_->rotates_halves ? i : 2 * i];
    double& b = head[model_->rotates_halves ? i + pairs : 2 * i + 1];
    const double first = a;
    const double second = b;
    a = first * std::cos(angle) - second * std::sin(angle);
    b = first * std::sin(angle) + second * std::cos(angle);
  }
}

// Causal attention; heads / key_heads consecutive query heads share one key and value head.
void Sequence::attend(std::size_t index, const Rows& normalized, Rows& residual) {
  const Layer& layer = model_->layers[index];
  const std::size_t width = model_->head_width;
  const std::size_t query_width = layer.query.rows;
  const std::size_t key_width = layer.key.rows;
  const std::size_t count = normalized.size() / model_->width;
  Rows queries = multiply(layer.query, normalized);
  Rows new_keys = multiply(layer.key, normalized);
  const Rows new_values = multiply(layer.value, normalized);
  queries = normalize(layer.query_norm, model_->epsilon, queries);
  new_keys = normalize(layer.key_norm, model_->epsilon, new_keys);
  for (std::size_t m = 0; m < count; ++m) {
    for (std::size_t h = 0; h < model_->heads; ++h)
      rotate(layer, {&queries[m * query_width + h * width], width}, length_ + m);
    for (std::size_t h = 0; h < model_->key_heads; ++h)
      rotate(layer, {&new_keys[m * key_width + h * width], width}, length_ + m);
  }
  Rows& keys = keys_[index];
  Rows& values = values_[index];
  keys.insert(keys.end(), new_keys.begin(), new_keys.end());
  values.insert(values.end(), new_values.begin(), new_values.end());

  Rows attended(count * query_width);
  for (std::size_t m = 0; m < count; ++m) {
    for (std::size_t h = 0; h < model_->heads; ++h) {
      const double* query = &queries[m * query_width + h * width];
      const std::size_t offset = h / (model_->heads / model_->key_heads) * width;
      Rows scores(length_ + m + 1);
      for (std::size_t t = 0; t < scores.size(); ++t) {
        for (std::size_t i = 0; i < width; ++i) scores[t] += query[i] * keys[t * key_width + offset + i];
        scores[t] /= std::sqrt(static_cast<double>(width));
        if (layer.is_local && t + model_->window < scores.size()) scores[t] = -HUGE_VAL;
      }
      softmax(scores);
      double* out = &attended[m * query_width + h * width];
      for (std::size_t t = 0; t < scores.size(); ++t) {
        for (std::size_t i = 0; i < width; ++i) out[i] += scores[t] * values[t * key_width + offset + i];
      }
    }
  }
  add_to(residual,
         normalize(layer.attention_post_norm, model_->epsilon, multiply(layer.attention_output, attended)));
}

// down(f(gate(x)) * up(x)), where f is silu(a) = a / (1 + exp(-a)) or the approximation of GELU by tanh.
void Sequence::feed_forward(const Layer& layer, const Rows& normalized, Rows& residual) const {
  Rows gate = multiply(layer.gate, normalized);
  const Rows up = multiply(layer.up, normalized);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double a = gate[i];
    const double gelu = a / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a)));
    gate[i] = (model_->gated_by_gelu ? gelu : a / (1 + std::exp(-a))) * up[i];
  }
  add_to(residual, normalize(layer.feed_forward_post_norm, model_->epsilon, multiply(layer.down, gate)));
}

std::vector<double> Sequence::append(std::span<const int> tokens) {
  const Model& model = *model_;
  if (tokens.empty()) throw std::runtime_error("there is no token to compute");
  if (tokens.size() > model.context - length_) throw std::runtime_error("the model's context is full");
  Rows x;
  for (const int token : tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= model.embedding.rows)
      throw std::runtime_error("token " + std::to_string(token) + " is not in the vocabulary");
    const float* row = &model.embedding.values[static_cast<std::size_t>(token) * model.width];
    for (std::size_t i = 0; i < model.width; ++i)
      x.push_back(static_cast<double>(row[i]) * model.embedding_factor);
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    attend(i, normalize(layer.attention_norm, model.epsilon, x), x);
    feed_forward(layer, normalize(layer.feed_forward_norm, model.epsilon, x), x);
  }
  length_ += tokens.size();
  const Rows last(x.end() - static_cast<std::ptrdiff_t>(model.width), x.end());
  return multiply(model.output.rows == 0 ? model.embedding : model.output,
                  normalize(model.output_norm, model.epsilon, last));
}

}
