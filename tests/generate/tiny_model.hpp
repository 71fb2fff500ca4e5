// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files of a model small enough to be computed by hand, right unless told otherwise.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "import/gguf_writer.hpp"

namespace generate::test {

/// The weights follow from a tensor's name, so that a test can compute with them too.
struct TinyModel {
  std::string architecture = "llama";  ///< or gemma3
  std::size_t blocks = 2, width = 32, heads = 4, kv_heads = 2, head_size = 8, feed_forward = 64,
              vocabulary = 11;
  edgeq::gguf::TensorType matrices = edgeq::gguf::TensorType::f32;    ///< or q8_0
  std::size_t window = 0;                                             ///< of attention; 0: no key
  std::set<std::string> without;                                      ///< keys and tensors that are left out
  std::map<std::string, std::pair<std::size_t, std::size_t>> shapes;  ///< other rows and columns of tensors
  std::vector<std::pair<std::string, std::size_t>> biases;            ///< names and sizes of vectors to add
  std::function<void(edgeq::test::GgufWriter&)> more;                 ///< adds keys and tensors

  /// Element i of a tensor, from -1/2 to 1/2; norms are from 1/2 to 3/2.
  static float element(const std::string& name, std::size_t i) {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    const auto mix = [&](std::size_t value) {
      hash = (hash ^ static_cast<std::uint32_t>(value)) * 16777619u;
    };
    for (const char c : name) mix(static_cast<unsigned char>(c));
    mix(i % 251);
    mix(i / 251);
    hash ^= hash >> 15;
    const float fraction = static_cast<float>(hash * 2654435761u >> 8) * 0x1p-24f;
    return name.find("norm") == std::string::npos ? fraction - 0.5f : fraction + 0.5f;
  }

  std::vector<std::byte> bytes() const {
    edgeq::test::GgufWriter writer;
    const auto key = [&](const std::string& name, auto value) {
      if (!without.contains(name)) writer.add(name, value);
    };
    const auto size = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
    key("general.architecture", architecture);
    key(architecture + ".block_count", size(blocks));
    key(architecture + ".context_length", std::uint32_t{64});
    key(architecture + ".embedding_length", size(width));
    key(architecture + ".feed_forward_length", size(feed_forward));
    key(architecture + ".attention.head_count", size(heads));
    key(architecture + ".attention.head_count_kv", size(kv_heads));
    key(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
    key(architecture + ".rope.freq_base", 100.0f);
    if (head_size != width / heads) key(architecture + ".attention.key_length", size(head_size));
    if (window != 0) key(architecture + ".attention.sliding_window", size(window));

    add(writer, "token_embd.weight", vocabulary, width);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::string block = "blk." + std::to_string(i) + ".";
      add(writer, block + "attn_norm.weight", 1, width);
      add(writer, block + "attn_q.weight", heads * head_size, width);
      add(writer, block + "attn_k.weight", kv_heads * head_size, width);
      add(writer, block + "attn_v.weight", kv_heads * head_size, width);
      add(writer, block + "attn_output.weight", width, heads * head_size);
      add(writer, block + "ffn_norm.weight", 1, width);
      add(writer, block + "ffn_gate.weight", feed_forward, width);
      add(writer, block + "ffn_up.weight", feed_forward, width);
      add(writer, block + "ffn_down.weight", width, feed_forward);
      if (architecture != "gemma3") continue;
      add(writer, block + "attn_q_norm.weight", 1, head_size);
      add(writer, block + "attn_k_norm.weight", 1, head_size);
      add(writer, block + "post_attention_norm.weight", 1, width);
      add(writer, block + "post_ffw_norm.weight", 1, width);
    }
    add(writer, "output_norm.weight", 1, width);
    for (const auto& [name, count] : biases) add(writer, name, 1, count);
    if (more) more(writer);
    return writer.bytes();
  }

 private:
  void add(edgeq::test::GgufWriter& writer, const std::string& name, std::size_t rows,
           std::size_t columns) const {
    if (without.contains(name)) return;
    if (const auto other = shapes.find(name); other != shapes.end()) std::tie(rows, columns) = other->second;
    std::vector<std::byte> data;
    const bool quantized = rows > 1 && matrices == edgeq::gguf::TensorType::q8_0;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      if (!quantized) {
        edgeq::test::GgufWriter::append(data, element(name, i));
        continue;
      }
      // Codes from -64 to 64 with a scale of 1/128 for each block of 32.
      if (i % 32 == 0) edgeq::test::GgufWriter::append(data, std::uint16_t{0x2000});
      edgeq::test::GgufWriter::append(data, static_cast<std::int8_t>(128 * element(name, i)));
    }
    const auto type = quantized ? matrices : edgeq::gguf::TensorType::f32;
    if (rows == 1)
      writer.add_tensor(name, type, {columns}, data);
    else
      writer.add_tensor(name, type, {columns, rows}, data);
  }
};

}
