#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds every source to .clang-format (version 14 decides) and to an SPDX line.
set -eu
cd "$(dirname "$0")/.."
clang_format=${1:-clang-format}

folders="include examples tests bench scripts cmake .ci"
# shellcheck disable=SC2086  # a list of words
find $folders -name '*.hpp' -o -name '*.cpp' -o -name '*.inl' -o -name '*.cc' | sort | xargs "$clang_format" --dry-run --Werror

# shellcheck disable=SC2086
for file in CMakeLists.txt .ci/run $(find $folders -name '*.hpp' -o -name '*.cpp' -o -name '*.inl' -o -name '*.cc' -o \
                                     -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt); do
  head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$file: no SPDX line" >&2; exit 1; }
done
