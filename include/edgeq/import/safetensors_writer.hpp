// SPDX-License-Identifier: Apache-2.0
// Writes a safetensors file without holding its data: the tensors are declared first, then their bytes follow
// in pieces. Needs nlohmann::json: link edgeq::checkpoint.
#pragma once
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/safetensors.hpp"
#include "edgeq/import/tensor.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE::safetensors {

/// A tensor that will be written.
struct TensorDeclaration {
  std::string name;
  ElementType type = ElementType::u8;
  std::vector<std::size_t> shape;  ///< elements, outermost first
};

/// Writes one file. Its bytes are those of the format's Rust crate: the header is padded with spaces to 8
/// bytes, and wide types come first, so that all data is aligned by nature.
///
/// The file is written beside its place, as `path` + ".partial", and takes its name in `finish`: a file of
/// that name that somebody has mapped keeps its bytes. A Writer that ends before removes what it wrote.
class Writer {
 public:
  /// Creates the file and writes the header.
  ///
  /// invalid_argument: a name occurs twice, is not UTF-8 or is "__metadata__", a size has no whole bytes, or
  /// the metadata is not UTF-8. too_large: the header or the data exceeds the format's limits. io: the
  /// operating system refuses.
  static Result<Writer> create(const std::string& path, std::vector<TensorDeclaration> tensors,
                               const std::map<std::string, std::string>& metadata = {});

  /// The tensors in the order in which their data must come: by type, then by name.
  std::span<const TensorDeclaration> tensors() const noexcept { return tensors_; }

  /// Writes the next bytes of a tensor, little-endian and row-major, in pieces of any size.
  ///
  /// invalid_argument: it is not this tensor's turn, or it has fewer bytes left. io: the operating system
  /// refuses. Tensors without elements need no call.
  Status append(std::string_view tensor, std::span<const std::byte> bytes);

  /// Closes the file and gives it its name. invalid_argument: data is missing, and may still come. io: the
  /// operating system refuses.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
  };
  // Removed with this object unless it was given its name.
  struct PartialFile {
    std::string path;
    std::unique_ptr<std::FILE, Close> stream;

    std::string partial_path() const { return path + ".partial"; }
    PartialFile(const std::string& place)
        : path(place), stream(std::fopen((place + ".partial").c_str(), "wb")) {}
    PartialFile(PartialFile&&) = default;
    PartialFile& operator=(PartialFile&& other) noexcept {
      std::swap(path, other.path);
      std::swap(stream, other.stream);
      return *this;
    }
    ~PartialFile() {
      if (stream == nullptr) return;
      stream.reset();
      std::remove(partial_path().c_str());
    }
  };

  explicit Writer(PartialFile file) : file_(std::move(file)) {}

  static std::size_t place_of(ElementType type) noexcept;
  static std::string escaped(std::string_view text);
  static Result<std::string> header(std::span<const TensorDeclaration> tensors,
                                    const std::map<std::string, std::string>& metadata,
                                    std::vector<std::size_t>& sizes);
  Error refused(const char* action) const {
    const std::string reason = std::error_code(errno, std::generic_category()).message();
    return Error{ErrorCode::io, std::string("cannot ") + action + " file \"" + file_.path + "\": " + reason};
  }
  Error finished() const {
    return Error{ErrorCode::invalid_argument, "file \"" + file_.path + "\" is finished already"};
  }
  Status write(const void* data, std::size_t size) {
    if (size != 0 && std::fwrite(data, 1, size, file_.stream.get()) != size) return refused("write");
    return success();
  }
  // Tensors that have all their bytes are behind us.
  void skip_complete() noexcept {
    while (current_ < left_.size() && left_[current_] == 0) ++current_;
  }

  PartialFile file_;
  std::vector<TensorDeclaration> tensors_;
  std::vector<std::size_t> left_;  // bytes that each tensor still needs
  std::size_t current_ = 0;
};

inline Result<Writer> Writer::create(const std::string& path, std::vector<TensorDeclaration> tensors,
                                     const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorDeclaration& a, const TensorDeclaration& b) {
    return std::pair(place_of(a.type), std::string_view(a.name)) <
           std::pair(place_of(b.type), std::string_view(b.name));
  });
  std::vector<std::size_t> sizes;
  const auto text = header(tensors, metadata, sizes);
  if (!text) return text.error();

  Writer writer{PartialFile(path)};
  if (writer.file_.stream == nullptr) return writer.refused("create");
  writer.tensors_ = std::move(tensors);
  writer.left_ = std::move(sizes);
  writer.skip_complete();
  std::byte length[sizeof(std::uint64_t)];
  store_little_endian(length, std::uint64_t{text->size()});
  if (auto status = writer.write(length, sizeof length); !status) return status.error();
  if (auto status = writer.write(text->data(), text->size()); !status) return status.error();
  return writer;
}

// The header, which the reader's own rules accept, and the bytes of each tensor.
inline Result<std::string> Writer::header(std::span<const TensorDeclaration> tensors,
                                          const std::map<std::string, std::string>& metadata,
                                          std::vector<std::size_t>& sizes) {
  const auto invalid = [](Error error) {
    if (error.code == ErrorCode::invalid_file) error.code = ErrorCode::invalid_argument;
    return error;
  };
  std::string text = "{";
  if (!metadata.empty()) {
    text += escaped(detail::metadata_key) + ":{";
    for (const auto& [key, value] : metadata) text += escaped(key) + ":" + escaped(value) + ",";
    text.back() = '}';
    text += ',';
  }
  std::size_t offset = 0;
  for (const auto& [name, type, shape] : tensors) {
    const auto bytes = detail::data_bytes(name, type, shape);
    if (!bytes) return invalid(bytes.error());
    if (*bytes > std::numeric_limits<std::size_t>::max() - offset) {
      return detail::tensor_error(name, ErrorCode::too_large, "no size holds the bytes up to its end");
    }
    text += escaped(name) + ":{\"dtype\":\"" + std::string(element_info(type).name) + "\",\"shape\":[";
    for (const std::size_t extent : shape) text += std::to_string(extent) + ",";
    if (!shape.empty()) text.pop_back();
    text += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + *bytes) + "]},";
    sizes.push_back(*bytes);
    offset += *bytes;
  }
  if (text.size() > 1) text.pop_back();  // the last comma
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (auto parsed = detail::HeaderParser(text, offset).parse(); !parsed) return invalid(parsed.error());
  return text;
}

inline Status Writer::append(std::string_view tensor, std::span<const std::byte> bytes) {
  if (file_.stream == nullptr) return finished();
  if (bytes.empty()) return success();
  if (current_ == tensors_.size() || tensors_[current_].name != tensor) {
    return detail::tensor_error(tensor, ErrorCode::invalid_argument,
                                current_ == tensors_.size()
                                    ? "all tensors are complete already"
                                    : "it is the turn of " + in_quotes(tensors_[current_].name));
  }
  if (bytes.size() > left_[current_]) {
    return detail::tensor_error(tensor, ErrorCode::invalid_argument,
                                std::to_string(bytes.size()) + " more bytes are too many, it needs " +
                                    std::to_string(left_[current_]));
  }
  if (auto status = write(bytes.data(), bytes.size()); !status) return status;
  left_[current_] -= bytes.size();
  skip_complete();
  return success();
}

inline Status Writer::finish() {
  if (file_.stream == nullptr) return finished();
  if (current_ != tensors_.size()) {
    return detail::tensor_error(tensors_[current_].name, ErrorCode::invalid_argument,
                                std::to_string(left_[current_]) + " bytes are missing");
  }
  const bool closed = std::fclose(file_.stream.release()) == 0;
  if (closed && std::rename(file_.partial_path().c_str(), file_.path.c_str()) == 0) return success();
  const Error error = refused(closed ? "rename" : "write");
  std::remove(file_.partial_path().c_str());
  return error;
}

// Where a type stands in the order of the crate, which ends with the widest ones and is walked backwards.
inline std::size_t Writer::place_of(ElementType type) noexcept {
  using enum ElementType;
  static constexpr std::array order{u64, i64, f64,     c64,         f32,         u32,     i32,     bf16,
                                    f16, u16, i16,     f8_e5m2fnuz, f8_e4m3fnuz, f8_e8m0, f8_e4m3, f8_e5m2,
                                    i8,  u8,  f6_e3m2, f6_e2m3,     f4,          boolean};
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), type) - order.begin());
}

// A JSON string of UTF-8, with the escapes of the crate.
inline std::string Writer::escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
      case '\\':
        result += {'\\', c};
        break;
      case '\b':
        result += "\\b";
        break;
      case '\f':
        result += "\\f";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      default: {
        const auto code = static_cast<unsigned char>(c);
        if (code < ' ') {
          result += {'\\', 'u', '0', '0', digits[code / 16], digits[code % 16]};
        } else {
          result += c;
        }
      }
    }
  }
  return result + "\"";
}

}
