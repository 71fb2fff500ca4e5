// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the GGUF reader and uses everything that it accepts: no fault, no lookup that
// misses, no view outside the file. Seeds: make_gguf_corpus.py.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "edgeq/import/gguf.hpp"
#include "use.hpp"

namespace {

using namespace edgeq;
using test::check;
using test::sum;

std::uint64_t use(const gguf::Value& value) {
  std::uint64_t total = value.as_u64().value_or(0);
  total += static_cast<std::uint64_t>(value.as_i64().value_or(0));
  total += value.as_f64() == 1.0 ? 1 : 0;
  total += value.as_bool().value_or(false) ? 1 : 0;
  total += sum(value.as_string().value_or(""));
  const std::size_t size = value.array_size().value_or(0);
  check(value.array_size().has_value() == value.element_type().has_value());
  if (const auto strings = value.as_strings()) {
    check(strings->size() == size);
    for (const std::string_view text : *strings) total += sum(text);
  }
  if (const auto values = value.as_f32s()) {
    check(values->size() == size);
    for (const float v : *values) total += v == 1.0f ? 1 : 0;
  }
  if (const auto values = value.as_i64s()) {
    check(values->size() == size);
    for (const std::int64_t v : *values) total += static_cast<std::uint64_t>(v);
  }
  return total;
}

std::uint64_t use(const gguf::Tensor& tensor) {
  const gguf::TypeInfo* info = gguf::type_info(tensor.type);
  check(info != nullptr && tensor.rank <= 4);
  check(tensor.columns() % info->block_elements == 0);
  check(tensor.data.size() == tensor.columns() / info->block_elements * tensor.rows() * info->block_bytes);
  return sum(tensor.name) + sum(tensor.data);
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = gguf::File::parse(std::as_bytes(std::span(data, size)));
  if (!file.ok()) {
    check(file.error().message.starts_with("GGUF "));
    return 0;
  }
  std::uint64_t total = file->split_count();
  for (const auto& [key, value] : file->metadata()) {
    check(!key.empty() && file->find(key) == &value);
    total += sum(key) + use(value);
  }
  for (const gguf::Tensor& tensor : file->tensors()) {
    check(file->tensor(tensor.name) == &tensor);
    total += use(tensor);
  }
  test::keep(total);
  return 0;
}
