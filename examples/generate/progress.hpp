// SPDX-License-Identifier: Apache-2.0
// A line on stderr that counts while somebody waits; a single plain line if nobody watches.
#pragma once
#include <cstddef>
#include <string>

namespace generate {

/// Shows nothing at all if `quiet`. Ends its line when it is destroyed.
class Progress {
 public:
  Progress(std::string title, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, std::size_t total);

 private:
  std::string title_;
  bool quiet_, terminal_;
};

}
