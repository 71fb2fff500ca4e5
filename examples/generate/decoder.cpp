// SPDX-License-Identifier: Apache-2.0
// The forward pass; what differs between architectures is in the model and its config.
#include "generate/decoder.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace generate {
namespace {

using edgeq::AnyLinear;
using edgeq::MatrixView;

// Positions from which a step's attention is split over threads: a fork and join costs about a microsecond,
// and one thread reads the keys and values of this many positions in two.
constexpr std::size_t positions_worth_a_fork = 64;

std::size_t checked_capacity(const Model& model, std::size_t capacity) {
  if (capacity > model.config.context)
    throw std::runtime_error("prompt and answer take " + std::to_string(capacity) +
                             " tokens, the model's context ends at " + std::to_string(model.config.context));
  return capacity;
}

}

Decoder::Decoder(const Model& model, std::size_t capacity, const edgeq::ThreadPool& pool)
    : model_(&model),
      pool_(&pool),
      capacity_(checked_capacity(model, capacity)),
      batch_(std::min(capacity, largest_batch)),
      cache_(model.config, capacity),
      global_rotations_(model.config, model.config.rotation, model.rope_factors, capacity),
      local_rotations_(model.config, model.config.local_rotation, {},
                       model.config.window == 0 ? 0 : capacity) {
  const ModelConfig& c = model.config;
  buffers_.hidden.resize(batch_ * c.width);
  buffers_.normed.resize(batch_ * c.width);
  buffers_.qkv.resize(batch_ * c.qkv_width());
  buffers_.attended.resize(batch_ * c.query_width());
  buffers_.gate_up.resize(batch_ * 2 * c.feed_forward);
  buffers_.activated.resize(batch_ * c.feed_forward);
  buffers_.logits.resize(model.vocabulary());
  buffers_.scores.resize(pool.concurrency() * cache_.padded_capacity());
}

std::span<const float> Decoder::append(std::span<const int> tokens) {
  while (true) {
    const std::size_t count = std::min(tokens.size(), batch_);
    run_blocks(tokens.first(count));
    tokens = tokens.subspan(count);
    if (!tokens.empty()) continue;
    const std::size_t width = model_->config.width;
    const Rows last(buffers_.hidden.data() + (count - 1) * width, 1, width);
    const Rows normed(buffers_.normed.data(), 1, width);
    norm(last, model_->output_norm, normed);
    multiply(model_->head, normed, {buffers_.logits.data(), 1, model_->vocabulary()});
    return {buffers_.logits.data(), model_->vocabulary()};
  }
}

MatrixView<const float> Decoder::append_with_all_logits(std::span<const int> tokens) {
  const std::size_t count = tokens.size(), width = model_->config.width, vocabulary = model_->vocabulary();
  if (buffers_.logits.size() < count * vocabulary) buffers_.logits.resize(count * vocabulary);
  run_blocks(tokens);
  const Rows normed(buffers_.normed.data(), count, width);
  norm({buffers_.hidden.data(), count, width}, model_->output_norm, normed);
  const Rows logits(buffers_.logits.data(), count, vocabulary);
  multiply(model_->head, normed, logits);
  return logits;
}

void Decoder::run_blocks(std::span<const int> tokens) {
  const ModelConfig& c = model_->config;
  const std::size_t count = tokens.size();
  if (count == 0 || count > batch_ || count > capacity_ - position_)
    throw std::runtime_error("a decoder for " + std::to_string(capacity_) + " tokens got " +
                             std::to_string(count) + " more at " + std::to_string(position_));
  const Rows hidden(buffers_.hidden.data(), count, c.width), normed(buffers_.normed.data(), count, c.width),
      qkv(buffers_.qkv.data(), count, c.qkv_width()),
      attended(buffers_.attended.data(), count, c.query_width()),
      gate_up(buffers_.gate_up.data(), count, 2 * c.feed_forward),
      activated(buffers_.activated.data(), count, c.feed_forward);

  const auto gated = c.gate == Gate::silu ? math_->swiglu : math_->geglu;
  for_rows(count, [&](std::size_t m) {
    model_->embedding.dequantize_row(static_cast<std::size_t>(tokens[m]), hidden.row(m));
    for (std::size_t i = 0; i < c.width; ++i) hidden.row(m)[i] *= c.embedding_scale;
  });
  for (std::size_t i = 0; i < model_->blocks.size(); ++i) {
    const Block& block = model_->blocks[i];
    norm(hidden, block.attention_norm, normed);
    multiply(block.qkv, normed, qkv);
    store_keys_and_values(i, qkv);
    attend(i, qkv, attended);
    multiply(block.attention_output, attended, normed);
    add_output(hidden, normed, block.attention_post_norm);

    norm(hidden, block.ffn_norm, normed);
    multiply(block.gate_up, normed, gate_up);
    for_rows(count, [&](std::size_t m) {
      const float* gate = gate_up.row(m);
      gated(gate, gate + c.feed_forward, c.feed_forward, activated.row(m));
    });
    multiply(block.down, activated, normed);
    add_output(hidden, normed, block.ffn_post_norm);
  }
  position_ += count;
}

// Normalizes the heads of queries and keys, if the model does, and turns them to their positions; keys and
// values go to the cache.
void Decoder::store_keys_and_values(std::size_t index, Rows qkv) {
  const ModelConfig& c = model_->config;
  const Block& block = model_->blocks[index];
  const RotationTable& rotations = c.is_local(index) ? local_rotations_ : global_rotations_;
  const auto rotate = c.rotation_pairs == RotationPairs::halves ? math_->rotate_halves : math_->rotate_pairs;
  for_rows(qkv.rows, [&](std::size_t m) {
    const std::size_t position = position_ + m;
    float* x = qkv.row(m);
    for (std::size_t head = 0; head < c.heads + c.kv_heads; ++head, x += c.head_size) {
      const std::vector<float>& weight = head < c.heads ? block.query_norm : block.key_norm;
      if (!weight.empty()) math_->rms_norm(x, weight.data(), c.head_size, c.rms_epsilon, x);
      rotate(x, rotations.cosines(position), rotations.sines(position), c.rope_size);
    }
    const float* key = qkv.row(m) + c.query_width();
    for (std::size_t head = 0; head < c.kv_heads; ++head, key += c.head_size)
      cache_.store(index, head, position, key, key + c.kv_width());
  });
}

void Decoder::attend(std::size_t block, Rows qkv, Rows attended) {
  const ModelConfig& c = model_->config;
  const std::size_t items = c.heads * qkv.rows;  // head by head, so that a thread stays with its keys
  const bool worth_a_fork = qkv.rows * (position_ + qkv.rows) >= positions_worth_a_fork;
  const std::size_t tasks = worth_a_fork ? std::min(items, pool_->concurrency()) : 1;
  pool_->run(tasks, [&](std::size_t task) {
    for (std::size_t item = items * task / tasks; item < items * (task + 1) / tasks; ++item) {
      const std::size_t head = item / qkv.rows, m = item % qkv.rows;
      const std::size_t kv_head = head / (c.heads / c.kv_heads);
      const std::size_t end = position_ + m + 1;
      const std::size_t begin = c.is_local(block) && end > c.window ? end - c.window : 0;
      const std::size_t aligned = begin / position_step * position_step;
      math_->attend({.query = qkv.row(m) + head * c.head_size,
                     .keys = cache_.keys(block, kv_head) + aligned * c.head_size,
                     .values = cache_.values(block, kv_head) + aligned * cache_.value_stride(),
                     .positions = end - aligned,
                     .skipped = begin - aligned,
                     .head_size = c.head_size,
                     .value_stride = cache_.value_stride(),
                     .scale = c.attention_scale,
                     .scores = &buffers_.scores[task * cache_.padded_capacity()],
                     .result = attended.row(m) + head * c.head_size});
    }
  });
}

void Decoder::norm(Rows x, const std::vector<float>& weight, Rows y) {
  for_rows(x.rows, [&](std::size_t m) {
    math_->rms_norm(x.row(m), weight.data(), x.columns, model_->config.rms_epsilon, y.row(m));
  });
}

void Decoder::add_output(Rows hidden, Rows output, const std::vector<float>& post_norm) {
  if (!post_norm.empty()) norm(output, post_norm, output);
  for_rows(hidden.rows, [&](std::size_t m) { math_->add(hidden.row(m), output.row(m), hidden.columns); });
}

// The outputs of the projection's layers stand side by side in y. x is prepared again only for a layer that
// cannot read what the one before it read.
void Decoder::multiply(const Projection& projection, Rows x, Rows y) {
  const auto start = std::chrono::steady_clock::now();
  const AnyLinear* prepared_by = nullptr;
  std::size_t column = 0;
  for (const AnyLinear& layer : projection.layers) {
    if (prepared_by == nullptr || !layer.shares_activations_with(*prepared_by)) {
      if (auto status = layer.prepare(prepared_, x, *pool_); !status)
        throw std::runtime_error(status.error().message);
      prepared_by = &layer;
    }
    layer.run(prepared_, {y.data + column, y.rows, layer.n(), y.stride}, *pool_);
    column += layer.n();
  }
  seconds_in_linears_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// f(0) ... f(rows - 1), each once, on all threads if there are many.
template <class F>
void Decoder::for_rows(std::size_t rows, const F& f) {
  constexpr std::size_t rows_worth_a_fork = 8;
  const std::size_t tasks = rows < rows_worth_a_fork ? 1 : std::min(rows, pool_->concurrency());
  pool_->run(tasks, [&](std::size_t task) {
    for (std::size_t m = rows * task / tasks; m < rows * (task + 1) / tasks; ++m) f(m);
  });
}

}
