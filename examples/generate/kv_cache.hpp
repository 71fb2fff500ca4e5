// SPDX-License-Identifier: Apache-2.0
// The keys and values of all positions so far, in the order in which attention reads them.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>

#include "edgeq/layout/aligned_buffer.hpp"
#include "generate/config.hpp"
#include "generate/vector_math.hpp"

namespace generate {

/// Room for `capacity` positions in every block and key-value head, as `AttentionTask` describes: keys in
/// groups of sixteen positions with equal elements side by side, so that scores are sums over vectors of
/// positions; values row by row.
class KvCache {
 public:
  /// Throws std::bad_alloc.
  KvCache(const ModelConfig& config, std::size_t capacity)
      : head_size_(config.head_size),
        value_stride_(rounded_up(config.head_size, value_step)),
        kv_heads_(config.kv_heads),
        padded_capacity_(rounded_up(capacity, position_step)),
        head_floats_(padded_capacity_ * (head_size_ + value_stride_)),
        buffer_(config.blocks * kv_heads_ * head_floats_ * sizeof(float)) {
    if (buffer_.data() == nullptr) throw std::bad_alloc();
    std::memset(buffer_.data(), 0, buffer_.size());  // the lanes and the padding that nobody writes
  }

  const float* keys(std::size_t block, std::size_t head) const {
    return reinterpret_cast<const float*>(buffer_.data()) + (block * kv_heads_ + head) * head_floats_;
  }
  const float* values(std::size_t block, std::size_t head) const {
    return keys(block, head) + padded_capacity_ * head_size_;
  }
  std::size_t value_stride() const { return value_stride_; }
  std::size_t padded_capacity() const { return padded_capacity_; }
  std::size_t bytes() const { return buffer_.size(); }

  /// Stores the key and the value [head_size] of one head at a position.
  void store(std::size_t block, std::size_t head, std::size_t position, const float* key,
             const float* value) {
    float* keys_of_sixteen = const_cast<float*>(keys(block, head)) +
                             position / vector_lanes * vector_lanes * head_size_ + position % vector_lanes;
    for (std::size_t d = 0; d < head_size_; ++d) keys_of_sixteen[d * vector_lanes] = key[d];
    std::memcpy(const_cast<float*>(values(block, head)) + position * value_stride_, value,
                head_size_ * sizeof(float));
  }

 private:
  static std::size_t rounded_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
  }

  std::size_t head_size_, value_stride_, kv_heads_, padded_capacity_, head_floats_;
  edgeq::AlignedBuffer buffer_;
};

}
