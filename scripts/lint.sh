#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reads every translation unit of the examples, benches and generate, and through them the headers, with clang-tidy.
set -eu
cd "$(dirname "$0")/.."
clang_tidy=${1:-clang-tidy}

cmake --preset default -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
git ls-files 'examples/*.cpp' 'bench/*.cpp' | xargs -n 1 -P "$(getconf _NPROCESSORS_ONLN)" "$clang_tidy" --quiet -p build/default
