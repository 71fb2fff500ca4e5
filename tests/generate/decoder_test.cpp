// SPDX-License-Identifier: Apache-2.0
// The forward pass against its formulas in double on a model of two blocks, and what must not change a bit of
// it.
#include "generate/decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "generate/tiny_model.hpp"

namespace {

using edgeq::gguf::TensorType;
using generate::Decoder;
using generate::Model;
using generate::test::TinyModel;

const edgeq::ThreadPool one_thread(1), three_threads(3);
const std::vector<int> tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 10, 7, 0, 3, 2, 3};

Model load(const TinyModel& model) {
  const auto bytes = model.bytes();
  return generate::load_model(value_or_throw(edgeq::gguf::File::parse(bytes)), one_thread, {});
}

// The architectures as their papers and GGUF's conventions define them, one number at a time, in arithmetic
// of type T.
template <class T>
class Reference {
 public:
  using Vector = std::vector<T>;

  explicit Reference(const TinyModel& model) : m_(model), keys_(m_.blocks), values_(m_.blocks) {}

  Vector append(int token) {
    Vector x(m_.width);
    for (std::size_t i = 0; i < m_.width; ++i)
      x[i] = TinyModel::element("token_embd.weight", static_cast<std::size_t>(token) * m_.width + i);
    if (gemma_)
      for (T& value : x) value *= std::sqrt(static_cast<T>(m_.width));
    for (std::size_t b = 0; b < m_.blocks; ++b) {
      const std::string block = "blk." + std::to_string(b) + ".";
      add(x, post_norm(block + "post_attention_norm.weight",
                       attention(b, block, norm(block + "attn_norm.weight", x))));
      const Vector n = norm(block + "ffn_norm.weight", x);
      Vector gate = multiply(block + "ffn_gate", m_.feed_forward, n);
      const Vector up = multiply(block + "ffn_up", m_.feed_forward, n);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = activation(gate[i]) * up[i];
      add(x, post_norm(block + "post_ffw_norm.weight", multiply(block + "ffn_down", m_.width, gate)));
    }
    ++position_;
    return multiply("token_embd", m_.vocabulary, norm("output_norm.weight", x));
  }

 private:
  T activation(T a) const {
    const T t = std::sqrt(2 / std::numbers::pi_v<T>) * (a + static_cast<T>(0.044715) * a * a * a);
    return gemma_ ? a / 2 * (1 + std::tanh(t)) : a / (1 + std::exp(-a));
  }
  Vector post_norm(const std::string& name, const Vector& x) const { return gemma_ ? norm(name, x) : x; }
  // Gemma 3 normalizes every head of queries and keys.
  void normalize_heads(const std::string& name, Vector& x) const {
    for (std::size_t i = 0; gemma_ && i < x.size(); i += m_.head_size) {
      const auto head = x.begin() + static_cast<std::ptrdiff_t>(i);
      const Vector y = norm(name, Vector(head, head + static_cast<std::ptrdiff_t>(m_.head_size)));
      std::copy(y.begin(), y.end(), head);
    }
  }
  // Of Gemma's blocks all but every sixth have a window.
  bool is_local(std::size_t b) const { return gemma_ && m_.window != 0 && b % 6 != 5; }

  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  static Vector norm(const std::string& name, const Vector& x) {
    T sum = 0;
    for (const T value : x) sum += value * value;
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = x[i] / std::sqrt(sum / static_cast<T>(x.size()) + 1e-5f) * TinyModel::element(name, i);
    return y;
  }
  Vector multiply(const std::string& name, std::size_t rows, const Vector& x) const {
    Vector y(rows);
    for (const auto& [bias, size] : m_.biases)
      for (std::size_t n = 0; bias == name + ".bias" && n < rows; ++n) y[n] = TinyModel::element(bias, n);
    for (std::size_t n = 0; n < rows; ++n)
      for (std::size_t k = 0; k < x.size(); ++k)
        y[n] += TinyModel::element(name + ".weight", n * x.size() + k) * x[k];
    return y;
  }
  // Turns pair i of every head by position * base^(-2i / head_size): neighbours in Llama, halves of a head in
  // Gemma.
  void rotate(Vector& x, T base) const {
    const std::size_t h = m_.head_size;
    for (std::size_t head = 0; head < x.size(); head += h)
      for (std::size_t i = 0; i < h / 2; ++i) {
        const T angle = position_ * std::pow(base, -2 * static_cast<T>(i) / static_cast<T>(h));
        T& first = x[head + (gemma_ ? i : 2 * i)];
        T& second = x[head + (gemma_ ? i + h / 2 : 2 * i + 1)];
        const T a = first, b = second;
        first = a * std::cos(angle) - b * std::sin(angle);
        second = a * std::sin(angle) + b * std::cos(angle);
      }
  }
  Vector attention(std::size_t b, const std::string& block, const Vector& x) {
    const std::size_t h = m_.head_size;
    Vector q = multiply(block + "attn_q", m_.heads * h, x),
           k = multiply(block + "attn_k", m_.kv_heads * h, x);
    normalize_heads(block + "attn_q_norm.weight", q);
    normalize_heads(block + "attn_k_norm.weight", k);
    const T base = is_local(b) ? 10000 : 100;
    rotate(q, base);
    rotate(k, base);
    keys_[b].push_back(k);
    values_[b].push_back(multiply(block + "attn_v", m_.kv_heads * h, x));
    Vector result(q.size());
    for (std::size_t head = 0; head < m_.heads; ++head) {
      const std::size_t from = head / (m_.heads / m_.kv_heads) * h;
      Vector weights;
      T total = 0;
      for (std::size_t p = 0; p < keys_[b].size(); ++p) {
        const Vector& key = keys_[b][p];
        T score = 0;
        for (std::size_t d = 0; d < h; ++d) score += q[head * h + d] * key[from + d];
        const bool seen = !is_local(b) || p + m_.window >= keys_[b].size();
        weights.push_back(seen ? std::exp(score / std::sqrt(static_cast<T>(h))) : 0);
        total += weights.back();
      }
      for (std::size_t p = 0; p < weights.size(); ++p)
        for (std::size_t d = 0; d < h; ++d)
          result[head * h + d] += weights[p] / total * values_[b][p][from + d];
    }
    return multiply(block + "attn_output", m_.width, result);
  }

  const TinyModel& m_;
  const bool gemma_ = m_.architecture == "gemma3";
  std::vector<std::vector<Vector>> keys_, values_;
  T position_ = 0;
};

// The decoder's float arithmetic may lose what float arithmetic loses on this model: the tolerance is the
// error of the same formulas in float, evaluated naively, times 4 for another order of sums. (A wrong angle,
// head or bias is a thousand times that.)
void expect_follows_reference(const TinyModel& tiny) {
  const Model model = load(tiny);
  Decoder decoder(model, tokens.size(), one_thread);
  Reference<double> exact(tiny);
  Reference<float> naive(tiny);
  double error = 0, naive_error = 0;
  for (const int token : tokens) {
    const auto logits = decoder.append({&token, 1});
    const std::vector<double> wanted = exact.append(token);
    const std::vector<float> rounded = naive.append(token);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      error = std::max(error, std::abs(logits[i] - wanted[i]));
      naive_error = std::max(naive_error, std::abs(rounded[i] - wanted[i]));
    }
  }
  EXPECT_GT(naive_error, 0);
  EXPECT_LE(error, 4 * naive_error);
}

TEST(Decoder, FollowsTheFormulas) {
  expect_follows_reference(TinyModel());
}

TEST(Decoder, FollowsTheFormulasWithBiases) {
  TinyModel tiny;
  tiny.biases = {{"blk.0.attn_q.bias", 32}, {"blk.1.attn_v.bias", 16}, {"blk.1.ffn_down.bias", 32}};
  expect_follows_reference(tiny);
}

TEST(Decoder, FollowsTheFormulasWithoutSharedHeads) {
  TinyModel tiny;
  tiny.kv_heads = 4;
  expect_follows_reference(tiny);
}

// Seven blocks, so that the sixth sees all positions; heads that are wider than the model; a window that is
// shorter than the text, and ends inside the lanes of a vector.
TinyModel tiny_gemma() {
  TinyModel tiny;
  tiny.architecture = "gemma3";
  tiny.blocks = 7;
  tiny.kv_heads = 1;
  tiny.head_size = 24;
  tiny.window = 7;
  return tiny;
}

TEST(Decoder, FollowsTheFormulasOfGemma3) {
  expect_follows_reference(tiny_gemma());
}

TEST(Decoder, FollowsTheFormulasOfGemma3WithoutAWindow) {
  TinyModel tiny = tiny_gemma();
  tiny.window = 0;
  expect_follows_reference(tiny);
}

TEST(Decoder, RopeFactorsDivideFrequencies) {
  TinyModel plain;
  TinyModel halved;
  halved.more = [](edgeq::test::GgufWriter& writer) {
    std::vector<std::byte> twos;
    for (int i = 0; i < 4; ++i) edgeq::test::GgufWriter::append(twos, 2.0f);
    writer.add_tensor("rope_freqs.weight", TensorType::f32, {4}, twos);
  };
  TinyModel linear;
  linear.more = [](edgeq::test::GgufWriter& writer) {
    writer.add("llama.rope.scaling.type", "linear");
    writer.add("llama.rope.scaling.factor", 2.0f);
  };
  const auto last_logits = [](const TinyModel& tiny) {
    const Model model = load(tiny);
    Decoder decoder(model, tokens.size(), one_thread);
    const auto logits = decoder.append(tokens);
    return std::vector<float>(logits.begin(), logits.end());
  };
  EXPECT_EQ(last_logits(halved), last_logits(linear));
  EXPECT_NE(last_logits(halved), last_logits(plain));
}

TEST(Decoder, Gemma3ScalesThePositionsOfGlobalBlocksOnly) {
  const auto last_logits = [](std::size_t blocks, bool scaled) {
    TinyModel tiny = tiny_gemma();
    tiny.blocks = blocks;
    if (scaled)
      tiny.more = [](edgeq::test::GgufWriter& writer) {
        writer.add("gemma3.rope.scaling.type", "linear");
        writer.add("gemma3.rope.scaling.factor", 8.0f);
      };
    const Model model = load(tiny);
    Decoder decoder(model, tokens.size(), one_thread);
    const auto logits = decoder.append(tokens);
    return std::vector<float>(logits.begin(), logits.end());
  };
  EXPECT_EQ(last_logits(5, true), last_logits(5, false));  // all local
  EXPECT_NE(last_logits(6, true), last_logits(6, false));
}

// Logits after every token, with the tokens in calls of `batch`.
std::vector<float> all_logits(const Model& model, const edgeq::ThreadPool& pool, std::size_t batch) {
  Decoder decoder(model, tokens.size(), pool);
  std::vector<float> all;
  for (std::size_t i = 0; i < tokens.size(); i += batch) {
    const std::size_t count = std::min(batch, tokens.size() - i);
    const auto logits = decoder.append_with_all_logits({&tokens[i], count});
    all.insert(all.end(), logits.data, logits.data + count * logits.columns);
  }
  return all;
}

void expect_no_bit_changes(TinyModel tiny) {
  tiny.matrices = TensorType::q8_0;
  const Model packed = load(tiny);
  for (const char* activation : {"int8", "int8/group", "int16"}) {
    const Model model = packed.with(activation, "");
    const std::vector<float> wanted = all_logits(model, one_thread, 1);
    EXPECT_EQ(all_logits(model, one_thread, tokens.size()), wanted) << activation;
    EXPECT_EQ(all_logits(model, three_threads, 5), wanted) << activation;
    EXPECT_EQ(all_logits(packed.with(activation, "generic"), one_thread, 7), wanted) << activation;
  }
}

TEST(Decoder, BatchesThreadsAndKernelsChangeNoBit) {
  expect_no_bit_changes(TinyModel());
}

TEST(Decoder, BatchesThreadsAndKernelsChangeNoBitOfGemma3) {
  TinyModel tiny = tiny_gemma();
  tiny.head_size = 32;  // whole blocks
  expect_no_bit_changes(tiny);
}

TEST(Decoder, ForgetsWhenReset) {
  const Model model = load(TinyModel());
  Decoder decoder(model, tokens.size(), one_thread);
  const auto first = decoder.append(tokens);
  const std::vector<float> wanted(first.begin(), first.end());
  decoder.reset();
  EXPECT_EQ(decoder.position(), 0u);
  const auto again = decoder.append(tokens);
  EXPECT_EQ(std::vector<float>(again.begin(), again.end()), wanted);
}

TEST(Decoder, RefusesMoreThanItsCapacity) {
  const Model model = load(TinyModel());
  Decoder decoder(model, 2, one_thread);
  EXPECT_THROW(decoder.append(tokens), std::runtime_error);
}

}
