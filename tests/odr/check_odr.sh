# SPDX-License-Identifier: Apache-2.0
# A unit built for any x86-64 and one built for AVX-512 share a program, in both link orders, both with -O3
# -ffast-math. On every processor, emulated ones too, the first must run and both must give the model's bits.
# Arguments: compiler, include folder, work folder, then "build", "native" or an emulated processor and the ISA
# whose kernels it must choose.
compiler=$1
include=$2
work=$3
mode=$4
here=$(dirname "$0")
case $("$compiler" -dumpmachine) in
  x86_64*) ;;
  *) echo "SKIPPED: only x86-64 processors are emulated"; exit 77 ;;
esac

if test "$mode" = build; then
  mkdir -p "$work" && cd "$work" || exit 1
  compile() { "$compiler" -std=c++20 -I "$include" -I "$here/.." "$@" || exit 1; }
  compile -O2 -march=x86-64 -c "$here/main.cpp" -o main.o
  compile -O3 -ffast-math -march=x86-64 -DUNIT=run_baseline -c "$here/unit.cpp" -o baseline.o
  compile -O3 -ffast-math -march=x86-64-v4 -DUNIT=run_newest -c "$here/unit.cpp" -o newest.o
  # Linked with -ffast-math a program starts with subnormals flushed; without, it does not, nor does the model.
  "$compiler" main.o newest.o baseline.o -o newest_first || exit 1
  "$compiler" main.o baseline.o newest.o -ffast-math -o baseline_first
  exit
fi

cd "$work" || exit 1
emulator=
isa=$5
units=baseline
disabled=none
if test "$mode" != native; then
  emulator="qemu-x86_64 -cpu $mode"  # warns of features that it cannot emulate
  command -v qemu-x86_64 >/dev/null || { echo "SKIPPED: qemu-x86_64 not found (Debian: qemu-user)"; exit 77; }
elif grep -qs avx512vl /proc/cpuinfo; then
  units="baseline newest"
  disabled="none avx512_vnni avx512,avx_vnni avx2"  # every kernel, down to the generic one
fi
expected=$(./newest_first model) || exit 1
echo "model: $expected"
failed=0
for program in newest_first baseline_first; do
  for unit in $units; do
    for features in $disabled; do
      found=$(EDGEQ_DISABLE=$features $emulator "./$program" $unit) || { echo "FAILED: exit status $?"; failed=1; }
      echo "$program, $unit, without $features: $found"
      test "${found%% *}" = "${expected%% *}" || { echo "FAILED: other bits than the model's"; failed=1; }
      test -z "$isa" || test "${found#* }" = "$isa" || { echo "FAILED: $isa expected"; failed=1; }
    done
  done
done
exit $failed
