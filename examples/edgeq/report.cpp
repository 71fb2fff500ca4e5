// SPDX-License-Identifier: Apache-2.0
// Tables and bars as text.
#include "report.hpp"

#include <algorithm>
#include <cstdio>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace tool {

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string Table::to_string() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& cell = cell_of(c);
      const std::string padding(widths[c] - cell.size(), ' ');
      line += columns_[c].is_number ? padding + cell : cell + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = '?';
  return text;
}

std::string fixed_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string size_text(double bytes) {
  if (bytes < 1e3) return fixed_text(bytes, 0) + " B";
  if (bytes < 1e6) return fixed_text(bytes / 1e3, 1) + " kB";
  if (bytes < 1e9) return fixed_text(bytes / 1e6, 1) + " MB";
  return fixed_text(bytes / 1e9, 2) + " GB";
}

Progress::Progress(std::string title) : title_(std::move(title)), is_terminal_(false) {
#if __has_include(<unistd.h>)
  is_terminal_ = isatty(STDERR_FILENO) == 1;
#endif
}

Progress::~Progress() {
  if (is_shown_) std::fprintf(stderr, "\r\033[K");  // the line has served
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  if (!is_terminal_ || total == 0) return;
  using std::chrono::milliseconds;
  const auto now = Clock::now();
  if (now - started_ < milliseconds(1000) || now - shown_ < milliseconds(100)) return;
  shown_ = now;
  is_shown_ = true;
  constexpr std::size_t width = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const std::size_t filled = std::min(width, static_cast<std::size_t>(part * static_cast<double>(width)));
  std::fprintf(stderr, "\r%s [%s%s] %3.0f %%", title_.c_str(), std::string(filled, '#').c_str(),
               std::string(width - filled, ' ').c_str(), 100.0 * part);
  std::fflush(stderr);
}

}
