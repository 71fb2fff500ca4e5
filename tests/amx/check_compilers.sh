#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tile kernels return the same bits whatever the optimization: a compiler that deletes the unpacking before a tile
# load shows at some level and not at others. Arguments: compiler, include folder, work folder.
compiler=$1
include=$2
work=$3
tests=$(dirname "$0")/..
case $("$compiler" -dumpmachine) in
  x86_64*linux*) ;;
  *) echo "SKIPPED: tiles are those of x86-64, emulated on Linux"; exit 77 ;;
esac
mkdir -p "$work"
for level in -O0 -O2 -O3; do
  "$compiler" -std=c++20 $level -I "$include" -I "$tests" "$tests"/amx/amx_hashes.cpp "$tests"/support/amx/*.cpp -pthread \
    -o "$work/hashes$level" || exit 1
  "$work/hashes$level" > "$work/hashes$level.txt"
  status=$?
  test $status = 77 && exit 77
  test $status = 0 || { echo "FAILED: at $level a case differs from the generic kernel"; grep NOT "$work/hashes$level.txt"; exit 1; }
  echo "$level: $(grep -c ' x ' "$work/hashes$level.txt") cases"
  cmp "$work/hashes-O0.txt" "$work/hashes$level.txt" || { echo "FAILED: $level differs from -O0"; exit 1; }
done
