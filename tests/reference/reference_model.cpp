// SPDX-License-Identifier: Apache-2.0
// The formulas of the Llama architecture, one function each, in double.
#include "reference/reference_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reference/dequantize.hpp"

// Picks the widest vectors of the processor when the program starts, so that the build needs no flag.
#if defined(__x86_64__) && defined(__linux__)
#define REFERENCE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define REFERENCE_CLONES
#endif

namespace reference {
namespace {

using edgeq::gguf::File;
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

// RMSNorm: each row divided by the root of its mean square, then scaled.
Rows normalize(const Matrix& scale, double epsilon, const Rows& x) {
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

const edgeq::gguf::Value& key(const File& file, const std::string& name) {
  const auto* value = file.find(name);
  if (value == nullptr) throw std::runtime_error("the model has no key " + name);
  return *value;
}

std::size_t size_key(const File& file, const std::string& name) {
  const auto value = key(file, name).as_u64();
  if (!value || *value == 0) throw std::runtime_error("key " + name + " is not a positive integer");
  return static_cast<std::size_t>(*value);
}

double float_key(const File& file, const std::string& name) {
  const auto value = key(file, name).as_f64();
  if (!value) throw std::runtime_error("key " + name + " is not a float");
  return *value;
}

// Takes tensors by name and shape, and counts them.
class TensorReader {
 public:
  explicit TensorReader(const File& file) : file_(&file) {}

  bool has(const std::string& name) const { return file_->tensor(name) != nullptr; }

  Matrix take(const std::string& name, std::size_t rows, std::size_t columns) {
    const auto* tensor = file_->tensor(name);
    if (tensor == nullptr) throw std::runtime_error("the model has no tensor " + name);
    if (tensor->rows() != rows || tensor->columns() != columns) {
      throw std::runtime_error("tensor " + name + " is not " + std::to_string(rows) + " x " +
                               std::to_string(columns));
    }
    taken_.push_back(tensor->name);
    return {rows, columns, dequantize(*tensor)};
  }

  void expect_all_taken() {
    std::sort(taken_.begin(), taken_.end());
    for (const auto& tensor : file_->tensors()) {
      if (!std::binary_search(taken_.begin(), taken_.end(), tensor.name))
        throw std::runtime_error("the reference does not know what to do with tensor " +
                                 std::string(tensor.name));
    }
  }

 private:
  const File* file_;
  std::vector<std::string_view> taken_;
};

}

Model::Model(const File& file) {
  if (key(file, "general.architecture").as_string() != "llama")
    throw std::runtime_error("the reference computes models of the architecture llama only");
  for (const auto& entry : file.metadata()) {
    if (entry.key.starts_with("llama.rope.scaling.") || entry.key == "llama.attention.sliding_window")
      throw std::runtime_error("the reference does not implement " + std::string(entry.key));
  }
  width = size_key(file, "llama.embedding_length");
  hidden = size_key(file, "llama.feed_forward_length");
  heads = size_key(file, "llama.attention.head_count");
  key_heads = size_key(file, "llama.attention.head_count_kv");
  const auto* head = file.find("llama.attention.key_length");
  head_width = head == nullptr ? width / heads : size_key(file, "llama.attention.key_length");
  rotated = size_key(file, "llama.rope.dimension_count");
  context = size_key(file, "llama.context_length");
  rope_base = float_key(file, "llama.rope.freq_base");
  epsilon = float_key(file, "llama.attention.layer_norm_rms_epsilon");
  if (heads % key_heads != 0 || rotated % 2 != 0 || rotated > head_width)
    throw std::runtime_error("the model's numbers of heads or rotated dimensions do not fit together");

  TensorReader reader(file);
  const auto* vocabulary = file.tensor("token_embd.weight");
  embedding = reader.take("token_embd.weight", vocabulary == nullptr ? 0 : vocabulary->rows(), width);
  output_norm = reader.take("output_norm.weight", 1, width);
  if (reader.has("output.weight")) output = reader.take("output.weight", embedding.rows, width);
  const std::size_t query_width = heads * head_width;
  const std::size_t key_width = key_heads * head_width;
  const std::size_t blocks = size_key(file, "llama.block_count");
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    Layer& layer = layers.emplace_back();
    layer.attention_norm = reader.take(prefix + "attn_norm.weight", 1, width);
    layer.query = reader.take(prefix + "attn_q.weight", query_width, width);
    layer.key = reader.take(prefix + "attn_k.weight", key_width, width);
    layer.value = reader.take(prefix + "attn_v.weight", key_width, width);
    layer.attention_output = reader.take(prefix + "attn_output.weight", width, query_width);
    layer.feed_forward_norm = reader.take(prefix + "ffn_norm.weight", 1, width);
    layer.gate = reader.take(prefix + "ffn_gate.weight", hidden, width);
    layer.up = reader.take(prefix + "ffn_up.weight", hidden, width);
    layer.down = reader.take(prefix + "ffn_down.weight", width, hidden);
  }
  reader.expect_all_taken();
}

Sequence::Sequence(const Model& model)
    : model_(&model), keys_(model.layers.size()), values_(model.layers.size()) {}

// RoPE on adjacent pairs, the order in which GGUF stores the rows of Llama's attn_q and attn_k: pair i turns
// by position * base^(-2i / rotated).
void Sequence::rotate(std::span<double> head, std::size_t position) const {
  for (std::size_t i = 0; i < model_->rotated; i += 2) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(model_->rotated);
    const double angle = static_cast<double>(position) * std::pow(model_->rope_base, exponent);
    const double first = head[i];
    const double second = head[i + 1];
    head[i] = first * std::cos(angle) - second * std::sin(angle);
    head[i + 1] = first * std::sin(angle) + second * std::cos(angle);
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
  for (std::size_t m = 0; m < count; ++m) {
    for (std::size_t h = 0; h < model_->heads; ++h)
      rotate({&queries[m * query_width + h * width], width}, length_ + m);
    for (std::size_t h = 0; h < model_->key_heads; ++h)
      rotate({&new_keys[m * key_width + h * width], width}, length_ + m);
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
      }
      softmax(scores);
      double* out = &attended[m * query_width + h * width];
      for (std::size_t t = 0; t < scores.size(); ++t) {
        for (std::size_t i = 0; i < width; ++i) out[i] += scores[t] * values[t * key_width + offset + i];
      }
    }
  }
  add_to(residual, multiply(layer.attention_output, attended));
}

// SwiGLU: down(silu(gate(x)) * up(x)), silu(a) = a / (1 + exp(-a)).
void Sequence::feed_forward(const Layer& layer, const Rows& normalized, Rows& residual) const {
  Rows gate = multiply(layer.gate, normalized);
  const Rows up = multiply(layer.up, normalized);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  add_to(residual, multiply(layer.down, gate));
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
    x.insert(x.end(), row, row + model.width);
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
