#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests the readers, the formats and the packer on a big-endian machine (s390x), and them and the plain C++ kernels on a
# 32-bit one (i686), both emulated by QEMU. Slow; the last line is "N passed, N failed". Usage: test_other_targets.sh [TARGET...]
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh targets
reports=
status=0
[ $# -gt 0 ] || set -- s390x i686
for target in "$@"; do
  sources=$(cd tests && ls number_test.cpp float8_test.cpp cpu_test.cpp layout_test.cpp import/*_test.cpp quantize/*_test.cpp \
    packed/byte_order_test.cpp)
  case $target in
    # Big-endian machines refuse to multiply and to use packed files: byte_order_test checks that.
    s390x) sources=$(echo "$sources" | grep -v same_linear) ;;
    i686) sources="$sources packed/file_test.cpp $(cd tests && ls linear_integer_test.cpp linear_float_test.cpp)" ;;
    *) echo "test_other_targets.sh knows s390x and i686, not $target" >&2; exit 1 ;;
  esac
  names=$(echo "$sources" | tr ' ' '\n' | sed 's|/|_|g; s|_test\.cpp$||')
  build=build/$target
  toolchain=$PWD/cmake/$target-linux-gnu.cmake
  if [ ! -d "$build/googletest" ]; then  # once; Debian has its source, and libraries for its own machine only
    cmake -S /usr/src/googletest -B "$build/googletest-build" -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DBUILD_GMOCK=OFF \
      -DCMAKE_INSTALL_PREFIX="$PWD/$build/googletest" -DCMAKE_INSTALL_LIBDIR=lib
    cmake --build "$build/googletest-build" --target install
  fi
  cmake -S . -B "$build/edgeq" -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_PREFIX_PATH="$PWD/$build/googletest" \
    -DCMAKE_BUILD_TYPE=Release -DEDGEQ_BUILD_EXAMPLES=OFF -DEDGEQ_BUILD_BENCH=OFF
  # shellcheck disable=SC2086  # a list of words
  cmake --build "$build/edgeq" --parallel "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" --target $(printf 'test_%s ' $names)
  ctest --test-dir "$build/edgeq" --output-on-failure --no-tests=error --output-junit "$PWD/$build/report.xml" \
    -R "^($(echo $names | tr ' ' '|'))\\." || status=$?
  reports="$reports $build/report.xml"
done
# shellcheck disable=SC2086
scripts/report_tests.sh $reports
exit "$status"
