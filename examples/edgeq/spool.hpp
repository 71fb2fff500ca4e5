// SPDX-License-Identifier: Apache-2.0
// Arrays on their way to a file whose order is another one: written to disk as they come, mapped when all are
// there.
#pragma once
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "edgeq/import/mapped_file.hpp"
#include "edgeq/result.hpp"

namespace tool {

/// A temporary file that nobody sees for longer than this object lives.
class Spool {
 public:
  static edgeq::Result<Spool> create(const std::string& path);

  /// Pads to a multiple of 64 bytes, where the next array begins; returns that place.
  edgeq::Result<std::size_t> align();
  /// Writes the next bytes of an array.
  edgeq::Status append(std::span<const std::byte> bytes);
  /// Ends the writing and maps all arrays. Their memory is the file's, which is removed when it is unmapped.
  edgeq::Result<edgeq::MappedFile> finish();

 private:
  struct Remove {
    std::string path;
    void operator()(std::FILE* stream) const noexcept {
      std::fclose(stream);
      std::remove(path.c_str());
    }
  };

  explicit Spool(std::unique_ptr<std::FILE, Remove> stream) : stream_(std::move(stream)) {}

  std::unique_ptr<std::FILE, Remove> stream_;
  std::size_t size_ = 0;
};

}
