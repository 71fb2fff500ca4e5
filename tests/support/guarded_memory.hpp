// SPDX-License-Identifier: Apache-2.0
// Arrays that begin right after an inaccessible page or end right before one: any access beyond them faults.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

namespace test {

/// Which end of the array touches an inaccessible page. (The other end has one too, up to a page away.)
enum class Edge { begin, end };

/// Page-protected copy of an array. T is trivially copyable.
template <class T>
class Guarded {
 public:
  Guarded(std::size_t count, Edge edge) : count_(count) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = count * sizeof(T);
    const std::size_t inner = (bytes + page - 1) / page * page;
    mapped_ = inner + 2 * page;
    base_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) std::abort();
    std::byte* first = static_cast<std::byte*>(base_) + page;
    if (inner != 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = reinterpret_cast<T*>(edge == Edge::begin ? first : first + inner - bytes);
  }
  Guarded(std::span<const T> values, Edge edge) : Guarded(values.size(), edge) {
    if (!values.empty()) std::memcpy(data_, values.data(), values.size_bytes());
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;

  T* data() const { return data_; }
  std::span<const T> span() const { return {data_, count_}; }
  /// No further writes: a fault if there is one.
  void make_read_only() const {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (mapped_ > 2 * page) mprotect(static_cast<std::byte*>(base_) + page, mapped_ - 2 * page, PROT_READ);
  }

 private:
  void* base_;
  std::size_t mapped_;
  T* data_;
  std::size_t count_;
};

}
