// SPDX-License-Identifier: Apache-2.0
// Writes packed files, a few panels at a time. Part of the component edgeq::checkpoint.
#pragma once
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "edgeq/import/tensor.hpp"
#include "edgeq/layout/packed_weight.hpp"
#include "edgeq/packed/checksum.hpp"
#include "edgeq/packed/entry.hpp"

namespace edgeq::inline EDGEQ_BASELINE::packed {

/// Collects what a packed file shall hold, then writes it. Sources and elements are kept by value: what they
/// view must outlive `write`.
class Writer {
 public:
  /// Bytes written so far, and in all.
  using Progress = std::function<void(std::uint64_t written, std::uint64_t total)>;

  /// Adds W [N, K] of any source as panels of format F, with a bias [N] or none. Refuses what
  /// PackedWeight::pack refuses, a name that is empty, too long or there already.
  template <WeightFormat F, WeightSource<F> Source>
  Status add(std::string name, Source source, const Bias& bias = {}) {
    if (Status status = source.validate(); !status) return status;
    const WeightShape shape = source.shape();
    auto geometry = PanelGeometry::of<F>(shape);
    if (!geometry) return geometry.error();
    if (Status status = validate_order(shape.k, shape.order); !status) return status;
    if (bias.size() != 0 && bias.size() != shape.n)
      return Error{ErrorCode::invalid_argument, "packed file: the bias of " + name + " has " +
                                                    std::to_string(bias.size()) + " elements, N is " +
                                                    std::to_string(shape.n)};
    Part part{std::move(name), F::name()};
    part.stored.layout = static_cast<std::uint32_t>(Layout::panels);
    part.stored.n = shape.n;
    part.stored.k = shape.k;
    part.stored.group = shape.group;
    part.stored.data.size = geometry->packed_bytes();
    part.bias.resize(bias.size() == 0 ? 0 : geometry->panels * panel_columns);
    for (std::size_t i = 0; i < bias.size(); ++i) part.bias[i] = bias[i];
    part.order.assign(shape.order.begin(), shape.order.end());
    part.write = [source = std::move(source), g = *geometry](Sink& sink, const AnyExecutor& executor) {
      write_panels<F>(source, g, sink, executor);
    };
    return keep(std::move(part));
  }

  /// Adds a tensor as it is, row-major: N the product of all extents but the last, K the last.
  Status add(const CheckpointTensor& tensor) {
    Part part{std::string(tensor.name), std::string(element_info(tensor.type).name)};
    part.stored.k = tensor.shape.empty() ? 1 : tensor.shape.back();
    part.stored.n = part.stored.k == 0 ? 0 : tensor.size() / part.stored.k;
    part.stored.data.size = tensor.data.size();
    part.write = [data = tensor.data](Sink& sink, const AnyExecutor&) { sink.write(data); };
    return keep(std::move(part));
  }

  /// Writes the file, under a name ending in ".part" until it is whole. Needs memory for one panel per thread
  /// twice over, whatever the size of the weights. Refuses what the operating system refuses, and a
  /// big-endian machine.
  template <Executor E = InlineExecutor>
  Status write(const std::string& path, const E& executor = {}, const Progress& progress = {}) {
    if (!has_byte_order_of_files) return wrong_byte_order();
    const AnyExecutor any = {
        executor.concurrency(),
        [&](std::size_t tasks, const std::function<void(std::size_t)>& task) { executor.run(tasks, task); }};
    return write_file(path, any, progress);
  }

 private:
  /// Where bytes go: into the file, and into the checksum of the entry.
  struct Sink {
    std::FILE* file = nullptr;
    Checksum checksum;
    std::uint64_t written = 0, total = 0;
    int error = 0;
    const Progress* progress = nullptr;

    void write(std::span<const std::byte> bytes) {
      checksum.add(bytes);
      put(bytes);
    }
    void put(std::span<const std::byte> bytes) {
      if (error == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) error = errno;
      written += bytes.size();
      if (*progress) (*progress)(written, total);
    }
    void pad_to(std::uint64_t offset) {
      constexpr std::byte zeros[line_bytes] = {};
      put(std::span(zeros).first(static_cast<std::size_t>(offset - written)));
    }
  };
  struct AnyExecutor {
    std::size_t threads;
    std::function<void(std::size_t, const std::function<void(std::size_t)>&)> run_tasks;
    std::size_t concurrency() const noexcept { return threads; }
    template <class Task>
    void run(std::size_t tasks, const Task& task) const {
      run_tasks(tasks, std::function<void(std::size_t)>(task));
    }
  };
  struct Part {
    std::string name, format;
    StoredEntry stored{};
    std::vector<float> bias{};
    std::vector<std::uint32_t> order{};
    std::function<void(Sink&, const AnyExecutor&)> write{};
  };

  /// The rows of another source from `first` on.
  template <class Source>
  struct RowsFrom {
    const Source& source;
    std::size_t first;
    WeightShape shape() const { return source.shape(); }
    Status validate() const { return success(); }
    template <class Rows>
    void read(std::size_t n, std::size_t r, Rows& rows) const noexcept {
      source.read(first + n, r, rows);
    }
  };

  /// Packs as many panels at once as there are threads, several times over for small ones.
  template <WeightFormat F, class Source>
  static void write_panels(const Source& source, const PanelGeometry& g, Sink& sink,
                           const AnyExecutor& executor) {
    if (g.packed_bytes() == 0) return;
    constexpr std::size_t block_bytes = std::size_t{1} << 20;
    const std::size_t threads = std::max<std::size_t>(executor.concurrency(), 1);
    const std::size_t count = std::max(threads, std::min(block_bytes / g.panel_bytes, g.panels));
    std::vector<std::byte> block(count * g.panel_bytes);
    for (std::size_t first = 0; first < g.panels; first += count) {
      PanelGeometry now = g;
      now.panels = std::min(count, g.panels - first);
      now.n = std::min(now.panels * panel_columns, g.n - first * panel_columns);
      PackedWeight::pack_panels<F>(
          RowsFrom<Source>{source, first * panel_columns}, now, executor,
          [&](std::size_t p) { return reinterpret_cast<std::uint8_t*>(block.data()) + p * g.panel_bytes; });
      sink.write(std::span(block).first(now.panels * g.panel_bytes));
    }
  }

  Status keep(Part part) {
    const auto refuse = [&](const char* what) {
      return Error{ErrorCode::invalid_argument, "packed file: the name \"" + part.name + "\" " + what};
    };
    if (part.name.empty() || part.name.size() > longest_name) return refuse("is empty or too long");
    if (!names_.insert(part.name).second) return refuse("stands there already");
    part.stored.name_size = static_cast<std::uint32_t>(part.name.size());
    part.stored.format_size = static_cast<std::uint32_t>(part.format.size());
    part.stored.bias.size = part.bias.size() * sizeof(float);
    part.stored.order.size = part.order.size() * sizeof(std::uint32_t);
    parts_.push_back(std::move(part));
    return success();
  }

  std::vector<std::byte> index() const {
    std::vector<std::byte> bytes;
    for (const Part& part : parts_) {
      const std::size_t at = bytes.size();
      bytes.resize(at + stored_size(part.name.size(), part.format.size()));
      std::memcpy(bytes.data() + at, &part.stored, entry_bytes);
      std::memcpy(bytes.data() + at + entry_bytes, part.name.data(), part.name.size());
      std::memcpy(bytes.data() + at + entry_bytes + part.name.size(), part.format.data(), part.format.size());
    }
    return bytes;
  }

  static std::vector<std::byte> header(const Header& fields) {
    std::vector<std::byte> bytes(header_bytes);
    std::memcpy(bytes.data(), magic.data(), magic.size());
    const std::uint32_t numbers[2] = {version, byte_order};
    std::memcpy(bytes.data() + 8, numbers, sizeof(numbers));
    std::memcpy(bytes.data() + 16, &fields, sizeof(fields));
    const std::uint64_t sum = checksum({std::span(bytes).first(header_bytes - sizeof(std::uint64_t))});
    std::memcpy(bytes.data() + header_bytes - sizeof(sum), &sum, sizeof(sum));
    return bytes;
  }

  /// Gives every part its place; returns the size of the file.
  std::uint64_t place_parts(std::uint64_t index_size) {
    std::uint64_t end = header_bytes + index_size;
    for (Part& part : parts_)
      for (Extent* extent : {&part.stored.data, &part.stored.bias, &part.stored.order}) {
        extent->offset = (end + line_bytes - 1) / line_bytes * line_bytes;
        end = extent->offset + extent->size;
      }
    return end;
  }

  Status write_file(const std::string& path, const AnyExecutor& executor, const Progress& progress) {
    const std::string part_path = path + ".part";
    const auto refused = [&](int error) {
      return Error{ErrorCode::io, "cannot write file \"" + part_path +
                                      "\": " + std::error_code(error, std::generic_category()).message()};
    };
    // Nothing half-written stays behind: the partial file goes unless it was given its name.
    struct Close {
      std::string path;
      void operator()(std::FILE* file) const noexcept {
        std::fclose(file);
        std::remove(path.c_str());
      }
    };
    std::unique_ptr<std::FILE, Close> file(std::fopen(part_path.c_str(), "wb"), Close{part_path});
    if (file == nullptr) return refused(errno);

    std::vector<std::byte> bytes = index();
    Header fields;
    fields.index_size = bytes.size();
    fields.entries = parts_.size();
    fields.file_size = place_parts(fields.index_size);
    Sink sink;
    sink.file = file.get();
    sink.total = fields.file_size;
    sink.progress = &progress;
    sink.put(std::vector<std::byte>(header_bytes));
    sink.put(bytes);
    for (Part& part : parts_) {
      sink.checksum = Checksum();
      sink.pad_to(part.stored.data.offset);
      part.write(sink, executor);
      sink.pad_to(part.stored.bias.offset);
      sink.write(std::as_bytes(std::span(part.bias)));
      sink.pad_to(part.stored.order.offset);
      sink.write(std::as_bytes(std::span(part.order)));
      part.stored.checksum = sink.checksum.value();
    }
    bytes = index();
    fields.index_checksum = checksum({bytes});
    sink.progress = &none_;
    if (sink.error == 0 && std::fseek(file.get(), 0, SEEK_SET) != 0) sink.error = errno;
    sink.put(header(fields));
    sink.put(bytes);
    if (sink.error != 0) return refused(sink.error);
    const bool closed = std::fclose(file.release()) == 0;
    if (closed && std::rename(part_path.c_str(), path.c_str()) == 0) return success();
    const int error = errno;
    std::remove(part_path.c_str());
    return refused(error);
  }

  std::vector<Part> parts_;
  std::unordered_set<std::string> names_;
  Progress none_;
};

}
