// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the reader of packed files and uses everything that it accepts: no fault, no view
// outside the file, and layers whose rows can be read. Seeds: make_packed_corpus.py.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "edgeq/format/formats.hpp"
#include "edgeq/layout/aligned_buffer.hpp"
#include "edgeq/packed/checksum.hpp"
#include "edgeq/packed/file.hpp"
#include "use.hpp"

namespace {

using namespace edgeq;
using test::check;
using test::sum;

// Few formats, and kernels of one kind: each costs the compiler time.
using Integers = FormatList<Int4<dynamic_group, Float16>, Q4K>;
using Floats = FormatList<Bf16Weight, Fp8Block<dynamic_group, dynamic_group, Float8E4M3>>;

std::uint64_t use_layer(const Result<AnyLinear>& layer, const packed::Entry& entry) {
  if (!layer.ok()) {
    check(!layer.error().message.empty());
    return 0;
  }
  check(layer->n() == entry.n && layer->k() == entry.k && layer->format() == entry.format);
  // The file bounds K wherever there are rows with columns.
  std::vector<float> row(layer->n() == 0 ? 0 : layer->k());
  for (std::size_t n = 0; n < std::min<std::size_t>(layer->n(), 64); ++n)
    layer->dequantize_row(n, row.data());
  return sum(std::as_bytes(std::span(row)));
}

void use(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
  const auto file = packed::File::parse(bytes, owner);
  if (!file.ok()) {
    check(file.error().message.starts_with("packed file: "));
    return;
  }
  std::uint64_t total = file->verify(packed::checksum).ok();
  const auto is_inside = [&](std::span<const std::byte> part) {
    return part.empty() ||
           (part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size());
  };
  for (const packed::Entry& entry : file->entries()) {
    check(file->find(entry.name) == &entry);
    for (const auto part : {entry.data, std::as_bytes(entry.bias), std::as_bytes(entry.order)}) {
      check(is_inside(part));
      total += sum(part);
    }
    total += sum(entry.name) + sum(entry.format);
    using Isas = IsaList<isa::generic>;
    total += use_layer(file->layer<Integers, ActivationList<DynamicInt16>, Isas>(entry), entry);
    total += use_layer(file->layer<Floats, ActivationList<F32>, Isas>(entry), entry);
  }
  test::keep(total);
}

}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto buffer = std::make_shared<AlignedBuffer>(size);
  if (size != 0) std::memcpy(buffer->data(), data, size);
  use(std::span<const std::byte>(reinterpret_cast<const std::byte*>(buffer->data()), size), buffer);
  return 0;
}
