// SPDX-License-Identifier: Apache-2.0
// Reads the tensors of one linear from the standard input and writes W [N, K] as raw binary32 to the standard
// output, as edgeq's importers decode it; for check_importers.py.
//
//     decode_linear LAYOUT [key=value ...]
//
// A tensor is a line "name type extent extent ...", then its bytes. Exit code 1 and a message: refused.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "edgeq/import/awq.hpp"
#include "edgeq/import/compressed_tensors.hpp"
#include "edgeq/import/gptq.hpp"
#include "edgeq/import/matmul_nbits.hpp"
#include "edgeq/import/tinygemm.hpp"

namespace {

using namespace edgeq;

struct Input {
  std::string bytes;
  std::map<std::string, CheckpointTensor> tensors;  // names view the keys

  bool read(std::istream& stream) {
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = bytes.find('\n', at);
      if (end == std::string::npos) return false;
      std::istringstream line(bytes.substr(at, end - at));
      std::string name, type;
      line >> name >> type;
      CheckpointTensor tensor;
      int id = 0;
      while (id < 22 && element_info(static_cast<ElementType>(id)).name != type) ++id;
      if (id == 22) return false;
      tensor.type = static_cast<ElementType>(id);
      for (std::size_t extent; line >> extent;) tensor.shape.push_back(extent);
      const std::size_t size = tensor.size() * element_info(tensor.type).bits / 8;
      if (size > bytes.size() - end - 1) return false;
      tensor.data = std::as_bytes(std::span(bytes)).subspan(end + 1, size);
      const auto& entry = *tensors.emplace(name, tensor).first;
      tensors[name].name = entry.first;
      at = end + 1 + size;
    }
    return true;
  }
  CheckpointTensor get(const char* name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? CheckpointTensor{name, ElementType::u8, {}, {}} : found->second;
  }
  std::optional<CheckpointTensor> find(const char* name) const {
    return tensors.count(name) == 0 ? std::nullopt : std::optional(get(name));
  }
};

struct Options {
  std::map<std::string, std::string> values;
  const std::string& text(const char* key) { return values[key]; }
  long long number(const char* key, long long otherwise) {
    return values.count(key) == 0 ? otherwise : std::atoll(values[key].c_str());
  }
};

constexpr auto print = [](const auto& source) -> Status {
  using Format = typename std::remove_cvref_t<decltype(source)>::Format;
  const WeightShape shape = source.shape();
  typename Format::Rows rows;
  std::vector<float> row(shape.k);
  for (std::size_t n = 0; n < shape.n; ++n) {
    rows.reset(shape.positions(), shape.group);
    source.read(n, 0, rows);
    for (std::size_t i = 0; i < shape.positions(); ++i) {
      const std::size_t k = shape.order.empty() ? i : shape.order[i];
      if (k != no_column) row[k] = Format::row_value(rows, 0, i);
    }
    std::fwrite(row.data(), sizeof(float), row.size(), stdout);
  }
  return success();
};

Status decode(const std::string& layout, const Input& in, Options& options) {
  const int bits = static_cast<int>(options.number("bits", 4));
  const std::int64_t group_size = options.number("group_size", 128);
  if (layout == "gptq")
    return gptq::visit_weights(
        {in.get("qweight"), in.get("qzeros"), in.get("scales"), in.find("g_idx")},
        {bits, group_size, options.number("sym", 1) != 0, options.number("desc_act", 0) != 0,
         options.text("checkpoint_format"), static_cast<std::size_t>(options.number("k", 0))},
        print);
  if (layout == "awq")
    return awq::visit_weights({in.get("qweight"), in.get("qzeros"), in.get("scales")},
                              {.group_size = group_size}, print);
  if (layout == "tinygemm")
    return tinygemm::visit_weights({in.get("codes"), in.get("scales_and_zeros")}, {group_size}, print);
  if (layout == "matmul_nbits")
    return matmul_nbits::visit_weights(
        {in.get("b"), in.get("scales"), in.find("zero_points"), in.find("g_idx")},
        {static_cast<std::size_t>(options.number("n", 0)), static_cast<std::size_t>(options.number("k", 0)),
         bits, static_cast<std::size_t>(options.number("block_size", 32))},
        print);
  if (layout == "compressed_tensors") {
    using compressed_tensors::Strategy;
    const std::string& name = options.text("strategy");
    const fp8::Block block{static_cast<std::size_t>(options.number("block_rows", 128)),
                           static_cast<std::size_t>(options.number("block_columns", 128))};
    return compressed_tensors::visit_weights(
        {in.get("weight"), in.get("weight_scale"), in.find("weight_shape"), in.find("weight_zero_point"),
         in.find("weight_g_idx")},
        {bits, options.number("symmetric", 1) != 0,
         name == "tensor"    ? Strategy::tensor
         : name == "channel" ? Strategy::channel
         : name == "block"   ? Strategy::block
                             : Strategy::group,
         group_size, block, options.text("version")},
        print);
  }
  return Error{ErrorCode::invalid_argument, "no layout " + layout};
}

}

int main(int count, char** arguments) {
  Options options;
  for (int i = 2; i < count; ++i) {
    const std::string text = arguments[i];
    options.values[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  Input input;
  if (count < 2 || !input.read(std::cin)) {
    std::fputs("usage: decode_linear LAYOUT [key=value ...] < tensors\n", stderr);
    return 2;
  }
  if (const Status status = decode(arguments[1], input, options); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
}
