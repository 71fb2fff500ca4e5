// SPDX-License-Identifier: Apache-2.0
// What commands print: tables, sizes in words, and a bar that counts while somebody waits.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tool {

/// A table of text whose columns are as wide as they must be.
class Table {
 public:
  /// A column's title; those of numbers are aligned to the right.
  struct Column {
    std::string title;
    bool is_number = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as there are columns; what terminals would obey is made visible.
  void add(std::vector<std::string> cells);
  std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The text with a question mark for each control character: names of files are not to be trusted.
std::string printable(std::string text);
/// For example "98.3 MB".
std::string size_text(double bytes);
/// A number with this many digits behind the point.
std::string fixed_text(double value, int digits);

/// A bar on stderr, if that is a terminal, for what takes longer than a second.
class Progress {
 public:
  explicit Progress(std::string title);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point started_ = Clock::now(), shown_ = started_;
};

}
