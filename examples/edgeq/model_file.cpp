// SPDX-License-Identifier: Apache-2.0
// What all kinds of model files share: telling them apart, names, and memory.
#include "model_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>

#include "edgeq/import/float_tensor.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "edgeq/packed/entry.hpp"

#if EDGEQ_HAS_MMAP
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tool {

using edgeq::Result;

Result<std::vector<float>> ModelItem::read_bias() const {
  if (!bias || weights == nullptr) return std::vector<float>();
  return edgeq::read_bias(*bias, weights->shape().n);
}

Result<ModelFile> ModelFile::open(const std::string& path) {
  std::array<std::uint8_t, 8> first{};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (file != nullptr && std::fread(first.data(), 1, first.size(), file.get()) < 4) first = {};
  }
  auto model = first == edgeq::packed::magic ? open_packed(path)
               : std::string_view("GGUF") == std::string_view(reinterpret_cast<const char*>(first.data()), 4)
                   ? open_gguf(path)
                   : open_checkpoint(path);
  if (model) model->sort_items();
  return model;
}

const ModelItem* ModelFile::find(std::string_view name) const noexcept {
  for (const ModelItem& item : items)
    if (item.name == name) return &item;
  return nullptr;
}

const ModelItem* ModelFile::tied_embedding() const noexcept {
  static constexpr std::string_view names[] = {"embed_tokens",    "wte",        "tok_embeddings",
                                               "word_embeddings", "token_embd", "embed_in"};
  for (const ModelItem& item : items)
    for (const std::string_view name : names)
      if (is_tied && item.role == Role::embedding && std::string_view(item.name).ends_with(name))
        return &item;
  return nullptr;
}

void ModelFile::release_pages() const {
#if EDGEQ_HAS_MMAP
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const std::span<const std::byte> bytes : mapped) {
    const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page,
               end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
#endif
}

namespace {

/// Whether a comes before b, runs of digits being compared as numbers.
bool comes_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto take_number = [&](std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    std::string_view digits = text.substr(0, length);
    text.remove_prefix(length);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return digits;
  };
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const std::string_view m = take_number(x), n = take_number(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else {
      if (x.front() != y.front()) return x.front() < y.front();
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  return x.empty() == y.empty() ? a < b : x.empty();
}

}

void ModelFile::sort_items() {
  std::sort(items.begin(), items.end(),
            [](const ModelItem& a, const ModelItem& b) { return comes_before(a.name, b.name); });
}

Role role_of_matrix(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last == "lm_head" || last == "embed_out" || name == "output") return Role::head;
  const bool is_embedding =
      last.find("embed") != last.npos || last.find("embd") != last.npos || last == "wte" || last == "wpe";
  return is_embedding ? Role::embedding : Role::linear;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  return edgeq::to_string(shape);
}

}
