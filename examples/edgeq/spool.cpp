// SPDX-License-Identifier: Apache-2.0
#include "spool.hpp"

#include <cerrno>
#include <system_error>

namespace tool {

using edgeq::Error;
using edgeq::ErrorCode;
using edgeq::Result;

namespace {

Error refused(const std::string& path) {
  return Error{ErrorCode::io, "cannot write file \"" + path +
                                  "\": " + std::error_code(errno, std::generic_category()).message()};
}

}

Result<Spool> Spool::create(const std::string& path) {
  std::FILE* stream = std::fopen(path.c_str(), "wb");
  if (stream == nullptr) return refused(path);
  return Spool(std::unique_ptr<std::FILE, Remove>(stream, Remove{path}));
}

Result<std::size_t> Spool::align() {
  constexpr std::byte zeros[64] = {};
  if (auto status = append(std::span(zeros).first((64 - size_ % 64) % 64)); !status) return status.error();
  return size_;
}

edgeq::Status Spool::append(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_.get()) != bytes.size())
    return refused(stream_.get_deleter().path);
  size_ += bytes.size();
  return edgeq::success();
}

Result<edgeq::MappedFile> Spool::finish() {
  const std::string path = stream_.get_deleter().path;
  if (std::fflush(stream_.get()) != 0) return refused(path);
  auto mapped = edgeq::MappedFile::open(path);
  stream_.reset();  // removes the name; the mapping keeps the bytes
  return mapped;
}

}
