// SPDX-License-Identifier: Apache-2.0
// Writes to a terminal or to a log.
#include "generate/progress.hpp"

#include <cstdio>
#include <utility>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace generate {
namespace {

bool is_terminal() {
#if __has_include(<unistd.h>)
  return isatty(STDERR_FILENO) == 1;
#else
  return false;
#endif
}

}

Progress::Progress(std::string title, bool quiet)
    : title_(std::move(title)), quiet_(quiet), terminal_(is_terminal()) {
  if (!quiet_ && !terminal_) std::fprintf(stderr, "%s\n", title_.c_str());
}

Progress::~Progress() {
  if (!quiet_ && terminal_) std::fprintf(stderr, "\r\033[K");  // the line has served
}

void Progress::show(std::size_t done, std::size_t total) {
  if (!quiet_ && terminal_) std::fprintf(stderr, "\r%s: %zu of %zu", title_.c_str(), done, total);
}

}
