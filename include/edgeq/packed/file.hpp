// SPDX-License-Identifier: Apache-2.0
// Opens a packed file: maps it, checks its index, and makes layers of its panels without copying one byte.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "edgeq/any_linear.hpp"
#include "edgeq/import/mapped_file.hpp"
#include "edgeq/number/little_endian.hpp"
#include "edgeq/packed/entry.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// The formats that a program can load, see packed::File::layer.
template <WeightFormat... Formats>
struct FormatList {};

namespace packed {

/// A packed file. Copies share the mapping, and so do the layers made of it.
class File {
 public:
  /// Maps a file and checks its header and index, in time that does not depend on the data. Refuses a file of
  /// another kind, version or byte order (all on a big-endian machine), one that is shorter or longer than it
  /// says, and an index that contradicts itself.
  static Result<File> open(const std::string& path) {
    auto mapped = MappedFile::open(path);
    if (!mapped) return mapped.error();
    auto owner = std::make_shared<MappedFile>(std::move(*mapped));
    const std::span<const std::byte> bytes = owner->bytes();
    return parse(bytes, std::move(owner));
  }

  /// The same of bytes in memory, aligned to 64, which `owner` keeps alive.
  static Result<File> parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  std::span<const Entry> entries() const noexcept { return entries_; }
  /// The entry of a name, or null.
  const Entry* find(std::string_view name) const noexcept {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &entries_[found->second];
  }

  /// Compares header, index and every entry with their checksums, reading the whole file. `hash(spans)` is
  /// XXH3-64 of the bytes of all spans, as checksum.hpp offers it. Refuses what was altered, by name.
  template <class Hash>
  Status verify(const Hash& hash) const {
    const auto refuse = [](const std::string& what) {
      return Error{ErrorCode::invalid_file, "packed file: " + what + " was altered: its checksum differs"};
    };
    if (hash({bytes_.first(header_bytes - sizeof(std::uint64_t))}) != header_checksum_)
      return refuse("the header");
    if (hash({bytes_.subspan(header_bytes, static_cast<std::size_t>(header_.index_size))}) !=
        header_.index_checksum)
      return refuse("the index");
    for (const Entry& entry : entries_)
      if (hash({entry.data, std::as_bytes(entry.bias), std::as_bytes(entry.order)}) != entry.checksum)
        return refuse(std::string(entry.name));
    return success();
  }

  /// The layer of an entry in one of the formats, which starts with the first of the activations. Refuses
  /// entries that are not panels, formats that are not in the list, and sizes that do not fit the shape.
  template <class Formats, class Activations, class Isas = AllIsas>
  Result<AnyLinear> layer(const Entry& entry, CpuFeatures cpu = CpuFeatures::detect()) const {
    return layer_of<Activations, Isas>(entry, cpu, Formats{});
  }

 private:
  template <class Activations, class Isas, class... Formats>
  Result<AnyLinear> layer_of(const Entry& entry, CpuFeatures cpu, FormatList<Formats...>) const {
    const auto refuse = [&](const std::string& what) {
      return Error{ErrorCode::unsupported, "packed file: " + std::string(entry.name) + what};
    };
    if (entry.layout != Layout::panels) return refuse(" is not packed: its layout is elements");
    Result<AnyLinear> result =
        refuse(" is " + std::string(entry.format) + ", for which this program was not compiled");
    const auto load = [&]<class Format>(std::type_identity<Format>) {
      if (entry.format != Format::name()) return false;
      auto weight = PackedWeight::view<Format>({entry.n, entry.k, entry.group, entry.order}, entry.data,
                                               entry.bias, owner_);
      if (weight)
        result = AnyLinear::of<Format, Activations, Isas>(std::move(*weight), cpu);
      else
        result = Error{weight.error().code,
                       "packed file: " + std::string(entry.name) + ": " + weight.error().message};
      return true;
    };
    (void)(load(std::type_identity<Formats>{}) || ...);
    return result;
  }

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  Header header_;
  std::uint64_t header_checksum_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

namespace detail {

/// Reads the entries of an index, trusting none of their numbers.
class IndexReader {
 public:
  IndexReader(std::span<const std::byte> file, const Header& header)
      : file_(file), index_(file.subspan(header_bytes, static_cast<std::size_t>(header.index_size))) {}

  bool at_end() const noexcept { return at_ == index_.size(); }

  Result<Entry> next() {
    StoredEntry stored;
    if (index_.size() - at_ < entry_bytes) return refuse("the index ends within an entry");
    std::memcpy(&stored, index_.data() + at_, entry_bytes);
    if (stored.name_size == 0 || stored.name_size > longest_name || stored.format_size == 0 ||
        stored.format_size > longest_format)
      return refuse("an entry has a name of " + std::to_string(stored.name_size) + " and a format of " +
                    std::to_string(stored.format_size) + " bytes");
    const std::size_t size = stored_size(stored.name_size, stored.format_size);
    if (index_.size() - at_ < size) return refuse("the index ends within a name");
    const auto* text = reinterpret_cast<const char*>(index_.data() + at_ + entry_bytes);
    at_ += size;

    Entry entry;
    entry.name = {text, stored.name_size};
    entry.format = {text + stored.name_size, stored.format_size};
    const std::string name(entry.name);
    if (stored.layout > static_cast<std::uint32_t>(Layout::panels))
      return refuse(name + " has layout " + std::to_string(stored.layout) +
                    ", which this version does not know");
    entry.layout = static_cast<Layout>(stored.layout);
    if (stored.n > limit || stored.k > limit || stored.group > limit)
      return refuse(name + " has N = " + std::to_string(stored.n) + ", K = " + std::to_string(stored.k) +
                    ", group = " + std::to_string(stored.group));
    entry.n = static_cast<std::size_t>(stored.n);
    entry.k = static_cast<std::size_t>(stored.k);
    entry.group = static_cast<std::size_t>(stored.group);
    entry.checksum = stored.checksum;
    for (const Extent* part : {&stored.data, &stored.bias, &stored.order})
      if (part->offset % line_bytes != 0 || part->offset > file_.size() ||
          part->size > file_.size() - part->offset)
        return refuse(name + " has a part of " + std::to_string(part->size) + " bytes at " +
                      std::to_string(part->offset) + " of " + std::to_string(file_.size()) +
                      "; parts begin at multiples of 64 and end with the file");
    entry.data = part(stored.data);
    entry.bias = elements<float>(stored.bias);
    entry.order = elements<std::uint32_t>(stored.order);
    if (entry.bias.size_bytes() != stored.bias.size || entry.order.size_bytes() != stored.order.size)
      return refuse(name + " has a bias of " + std::to_string(stored.bias.size) + " and an order of " +
                    std::to_string(stored.order.size) + " bytes; both have elements of 4");
    return entry;
  }

  static Error refuse(const std::string& what) {
    return Error{ErrorCode::invalid_file, "packed file: " + what};
  }

 private:
  static constexpr std::uint64_t limit = std::uint64_t{1} << PanelGeometry::extent_bits;

  std::span<const std::byte> part(const Extent& extent) const noexcept {
    return file_.subspan(static_cast<std::size_t>(extent.offset), static_cast<std::size_t>(extent.size));
  }
  /// Aligned, because the file is and parts are.
  template <class T>
  std::span<const T> elements(const Extent& extent) const noexcept {
    return {reinterpret_cast<const T*>(part(extent).data()),
            static_cast<std::size_t>(extent.size) / sizeof(T)};
  }

  std::span<const std::byte> file_, index_;
  std::size_t at_ = 0;
};

}

inline Result<File> File::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const auto refuse = detail::IndexReader::refuse;
  if (bytes.size() < header_bytes || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return refuse("the magic is missing: it is a file of another kind, or its writing was interrupted");
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % line_bytes != 0)
    return Error{ErrorCode::invalid_argument, "packed file: the bytes are not aligned to 64"};
  std::uint32_t found[2];
  copy_little_endian<std::uint32_t>(found, bytes.data() + magic.size(), 2);
  if (found[1] == swapped_byte_order)
    return Error{ErrorCode::unsupported, "packed file: it was written in the other byte order"};
  if (found[0] != version)
    return Error{ErrorCode::unsupported, "packed file: version " + std::to_string(found[0]) +
                                             "; this library reads version " + std::to_string(version)};
  if (found[1] != byte_order) return refuse("the byte order mark is " + std::to_string(found[1]));
  if (!has_byte_order_of_files) return wrong_byte_order();
  File file;
  file.bytes_ = bytes;
  file.owner_ = std::move(owner);
  Header& header = file.header_;
  std::memcpy(&header, bytes.data() + magic.size() + sizeof(found), sizeof(header));
  std::memcpy(&file.header_checksum_, bytes.data() + header_bytes - sizeof(std::uint64_t),
              sizeof(std::uint64_t));
  if (header.file_size != bytes.size())
    return refuse("it has " + std::to_string(bytes.size()) + " bytes and should have " +
                  std::to_string(header.file_size) + (header.file_size > bytes.size() ? ": truncated" : ""));
  if (header.index_offset != header_bytes || header.index_size > bytes.size() - header_bytes)
    return refuse("the index of " + std::to_string(header.index_size) + " bytes at " +
                  std::to_string(header.index_offset) + " is not inside");
  if (header.entries > header.index_size / entry_bytes)
    return refuse("an index of " + std::to_string(header.index_size) + " bytes cannot hold " +
                  std::to_string(header.entries) + " entries");
  detail::IndexReader reader(bytes, header);
  file.entries_.reserve(static_cast<std::size_t>(header.entries));
  for (std::uint64_t i = 0; i < header.entries; ++i) {
    auto entry = reader.next();
    if (!entry) return entry.error();
    if (!file.by_name_.emplace(entry->name, file.entries_.size()).second)
      return refuse("the name " + std::string(entry->name) + " stands twice in the index");
    file.entries_.push_back(*entry);
  }
  if (!reader.at_end()) return refuse("the index goes on behind its last entry");
  return file;
}

}
}
