# SPDX-License-Identifier: Apache-2.0
# Without any -m flag, kernels use the instructions they are named after, call nothing in their loops, and no vector
# instruction beyond the baseline leaves them. Arguments: compiler, include folder, work folder.
compiler=$1
include=$2
work=$3
here=$(dirname "$0")
case $("$compiler" -dumpmachine) in
  x86_64*) ;;
  *) echo "SKIPPED: only the kernels of x86-64 are disassembled"; exit 77 ;;
esac
command -v objdump >/dev/null || { echo "SKIPPED: objdump not found (Debian: binutils)"; exit 77; }
mkdir -p "$work"
object=$work/kernels.o
"$compiler" -std=c++20 -O2 -I "$include" -c "$here/kernels.cpp" -o "$object" || exit 1
objdump --disassemble --reloc --no-show-raw-insn "$object" > "$work/kernels.s"
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# check_kernels ISA INSTRUCTION FORBIDDEN: the three kernels contain the one and not the other.
check_kernels() {
  symbols=$(nm "$object" | grep -Eo "_ZN5edgeq[0-9a-z_]*[0-9]$1[0-9]+multiply_panels.*")
  test "$(echo "$symbols" | wc -l)" = 3 || fail "$1: three kernels expected, found: $symbols"
  for symbol in $symbols; do
    body=$work/$1.s
    awk -v name="<$symbol>:" '/>:$/ { inside = $2 == name } inside' "$work/kernels.s" > "$body"
    count=$(grep -Ec "$2" "$body")
    calls=$(grep -EA1 '\scall' "$body" | grep -Eo 'R_X86_64_\S+\s+\S+' | awk '{ sub(/[-+]0x.*/, "", $2); print $2 }' | sort | uniq -c | xargs)
    echo "$1: $(grep -c '^ ' "$body") instructions, $count of /$2/, calls: ${calls:-none}; $(c++filt "$symbol" | grep -Eo 'codec::[A-Za-z]+|DynamicInteger<[0-9]+' | sort -u | xargs)"
    test "$count" -gt 0 || fail "$symbol has no $2"
    grep -Eq "$3" "$body" && fail "$symbol has $(grep -Eom1 "$3" "$body")"
    # The last panel's partial store, outside the loop over k.
    test -z "$(echo "$calls" | sed -E 's/[0-9]+ \S*store_converted\S*//g')" || fail "$symbol calls $calls"
  done
}
evex='%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])'
check_kernels avx512_vnni 'vpdpbusd .*%zmm' '\{vex\}'
check_kernels avx_vnni '\{vex\} vpdpbusd .*%ymm' "$evex"
check_kernels avx2 'vpmaddubsw .*%ymm' "$evex|vpdpbusd"

# The instruction dispatched to where there is BF16, and no accumulator copied or spilled in the inner loops.
"$compiler" -std=c++20 -O2 -I "$include" -c "$here/loops.cpp" -o "$work/loops.o" || exit 1
objdump --disassemble --no-show-raw-insn "$work/loops.o" > "$work/loops.s"
grep -q 'vdpbf16ps .*%zmm' "$work/loops.s" || fail "no vdpbf16ps on 512 bits"
grep -q 'vpermi2b .*%zmm\|vpermt2b .*%zmm' "$work/loops.s" || fail "8-bit floats are not looked up by permutation"
python3 "$here/inner_loops.py" "$work/loops.s" --least-loops 12 || fail "inner loops"

# Everything outside the kernels' namespaces runs on any x86-64.
leaks=$(awk '/>:$/ { name = $2 } / +[0-9a-f]+:\t(\{[a-z]+\} )?v[a-z]/ && name !~ /^<_ZZ?NK?5edgeq6x86_v1[0-9]+(avx|amx)/ { print name }' \
  "$work/kernels.s" | sort -u)
test -z "$leaks" || fail "beyond the baseline: $(echo "$leaks" | c++filt)"
exit $failed
