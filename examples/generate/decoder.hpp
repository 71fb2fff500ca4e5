// SPDX-License-Identifier: Apache-2.0
// Runs a model over tokens, one at a time or many at once, and keeps what it has seen.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "edgeq/activation/prepared.hpp"
#include "edgeq/matrix.hpp"
#include "edgeq/thread_pool.hpp"
#include "generate/kv_cache.hpp"
#include "generate/model.hpp"
#include "generate/rotation_table.hpp"
#include "generate/vector_math.hpp"

namespace generate {

/// One sequence. Its numbers do not depend on the number of threads, and with integer activations not on the
/// kernels nor on how the tokens were divided into calls either.
class Decoder {
 public:
  /// Tokens that pass the layers together: enough for the kernels' tiles, few enough for the caches.
  static constexpr std::size_t largest_batch = 256;

  /// For at most `capacity` tokens. The model and the pool must outlive it. Throws std::runtime_error if the
  /// capacity is beyond the model's context, std::bad_alloc if the memory is.
  Decoder(const Model& model, std::size_t capacity, const edgeq::ThreadPool& pool);

  /// Appends tokens (at least one, in the vocabulary, within the capacity) and returns the logits that follow
  /// the last: [vocabulary], valid until the next call. One token at a time allocates nothing once the first
  /// has passed.
  std::span<const float> append(std::span<const int> tokens);

  /// The same for at most `largest_batch` tokens, with the logits after each: [tokens, vocabulary].
  edgeq::MatrixView<const float> append_with_all_logits(std::span<const int> tokens);

  std::size_t position() const { return position_; }
  /// Forgets all tokens.
  void reset() { position_ = 0; }

  /// Seconds spent in linears, activations' preparation included, since the decoder was built.
  double seconds_in_linears() const { return seconds_in_linears_; }

 private:
  using Rows = edgeq::MatrixView<float>;

  // What the linears read and write, for one batch of rows; allocated once.
  struct Buffers {
    std::vector<float> hidden, normed, qkv, attended, gate_up, activated, logits;
    std::vector<float> scores;  // for each thread
  };

  void run_blocks(std::span<const int> tokens);
  void attend(std::size_t block, Rows qkv, Rows attended);
  void store_keys_and_values(std::size_t block, Rows qkv);
  void norm(Rows x, const std::vector<float>& weight, Rows y);
  void add_output(Rows hidden, Rows output, const std::vector<float>& post_norm);
  void multiply(const Projection& projection, Rows x, Rows y);
  template <class F>
  void for_rows(std::size_t rows, const F& f);

  const Model* model_;
  const edgeq::ThreadPool* pool_;
  const VectorMath* math_ = &vector_math();
  std::size_t capacity_, batch_;
  KvCache cache_;
  RotationTable global_rotations_, local_rotations_;
  Buffers buffers_;
  edgeq::Prepared prepared_;
  std::size_t position_ = 0;
  double seconds_in_linears_ = 0;
};

}
