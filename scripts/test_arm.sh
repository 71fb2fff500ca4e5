#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests every kernel of 64-bit Arm on another Linux machine: builds with Debian's cross compiler, then runs the same cases on
# emulated processors from Cortex-A53 to those with everything. An instruction that a processor lacks is a SIGILL there. The
# last line is "N passed, N failed". Usage: test_arm.sh [QEMU_CPU...]
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh arm
# No sdot; sdot; SVE of 512 bits without sdot; all but SVE; all.
[ $# -gt 0 ] || set -- cortex-a53 cortex-a76 a64fx max,sve=off max
names="cpu layout linear_bf16 linear_codebook linear_float linear_fp8 linear_integer linear_integer_byte linear_memory
       linear_order linear_plan linear_shape linear_sharing linear_zero_point packed_file"
build=build/arm64
cmake -S . -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DEDGEQ_BUILD_EXAMPLES=OFF -DEDGEQ_BUILD_BENCH=OFF
# shellcheck disable=SC2086  # a list of words
cmake --build "$build" --parallel "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" --target $(printf 'test_%s ' $names)

reports=
status=0
for cpu in "$@"; do
  echo "QEMU_CPU=$cpu"
  report=$PWD/$build/report_$cpu.xml
  # shellcheck disable=SC2086
  QEMU_CPU=$cpu ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$report" \
    --parallel "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" -R "^($(echo $names | tr ' ' '|'))\\." || status=$?
  reports="$reports $report"
done
# shellcheck disable=SC2086
scripts/report_tests.sh $reports
exit "$status"
