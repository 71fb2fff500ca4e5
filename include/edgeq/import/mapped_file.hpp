// SPDX-License-Identifier: Apache-2.0
// A whole file as read-only bytes: mapped on POSIX systems, read into memory elsewhere.
#pragma once
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#if __has_include(<sys/mman.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define EDGEQ_HAS_MMAP 1
#else
#include <cstdio>
#include <vector>
#define EDGEQ_HAS_MMAP 0
#endif

#include "edgeq/config.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Owns the read-only bytes of one regular file. Moving it moves neither the bytes nor the views of them.
///
/// On POSIX systems the file is mapped, so opening costs no memory and pages are read when touched. It must
/// then not be made shorter while it is mapped: touching the pages that are gone raises SIGBUS.
class MappedFile {
 public:
  /// Opens a file by its path; io if the operating system refuses or it is not a regular file, too_large if
  /// it does not fit the address space. An empty file has no bytes.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
#if EDGEQ_HAS_MMAP
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
#endif

  /// The whole file, valid for as long as this object or the one that it was moved to.
  std::span<const std::byte> bytes() const noexcept {
    return bytes_;
  }

 private:
  MappedFile() = default;

  void swap(MappedFile& other) noexcept {
    std::swap(bytes_, other.bytes_);
#if !EDGEQ_HAS_MMAP
    storage_.swap(other.storage_);
#endif
  }

  static Error refused(const std::string& path, const char* action, int error) {
    const std::string reason = std::error_code(error, std::generic_category()).message();
    return Error{ErrorCode::io, "cannot " + std::string(action) + " file \"" + path + "\": " + reason};
  }

  std::span<const std::byte> bytes_;
#if !EDGEQ_HAS_MMAP
  std::vector<std::byte> storage_;
#endif
};

#if EDGEQ_HAS_MMAP

inline Result<MappedFile> MappedFile::open(const std::string& path) {
  struct Descriptor {
    int value;
    ~Descriptor() {
      if (value >= 0) ::close(value);  // the mapping does not need it
    }
  };
  // Not blocking: opening a pipe would wait for its writer before it can be refused.
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.value < 0) return refused(path, "open", errno);
  struct stat status = {};
  if (::fstat(descriptor.value, &status) != 0) return refused(path, "examine", errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::io, "cannot map \"" + path + "\": it is not a regular file"};
  }
  MappedFile file;
  if (status.st_size == 0) return file;  // mmap refuses a length of 0
  if (!std::in_range<std::size_t>(status.st_size)) {
    return Error{ErrorCode::too_large, "file \"" + path + "\" has " + std::to_string(status.st_size) +
                                           " bytes, which do not fit the address space"};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  if (address == MAP_FAILED) return refused(path, "map", errno);
  file.bytes_ = {static_cast<const std::byte*>(address), size};
  return file;
}

#else

inline Result<MappedFile> MappedFile::open(const std::string& path) {
  std::FILE* stream = std::fopen(path.c_str(), "rb");
  if (stream == nullptr) return refused(path, "open", errno);
  MappedFile file;
  std::size_t size = 0;
  std::size_t count = 0;
  do {
    file.storage_.resize(size + (std::size_t{1} << 20));
    count = std::fread(file.storage_.data() + size, 1, file.storage_.size() - size, stream);
    size += count;
  } while (count != 0);
  const int error = std::ferror(stream) != 0 ? errno : 0;
  std::fclose(stream);
  if (error != 0) return refused(path, "read", error);
  file.storage_.resize(size);
  file.bytes_ = file.storage_;
  return file;
}

#endif

}
