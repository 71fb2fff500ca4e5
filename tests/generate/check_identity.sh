#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real model's text must not depend, in a single byte, on the instruction set or on the number of threads.
# Usage: check_identity.sh GENERATE MODEL ACTIVATION
set -eu
generate=$1 model=$2 activation=$3
[ -f "$model" ] || { echo "skipped: no model; scripts/fetch_model.sh fetches it"; exit 77; }

# Kernels in plain C++ are some hundred times slower: a short answer is enough to go through every layer.
write() {
  "$generate" --model "$model" --prompt "Name three planets." --tokens 16 --activation "$activation" --json "$@"
}
field() { python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["tokens"], repr(r["text"]))'; }

expected=$(write --threads 1 | field)
printf "expected: %s\n" "$expected"
compared=0
for isa in avx512_vnni avx_vnni avx2 highway generic; do
  for threads in 1 2 3; do
    if ! result=$(write --isa "$isa" --threads "$threads" 2>/tmp/identity.$$); then
      echo "$isa: not here: $(tail -n 1 /tmp/identity.$$)"
      break
    fi
    found=$(printf "%s" "$result" | field)
    [ "$found" = "$expected" ] || { echo "$isa, $threads threads: $found"; exit 1; }
    compared=$((compared + 1))
  done
done
rm -f /tmp/identity.$$
echo "$compared runs, one text"
[ "$compared" -ge 3 ]  # at the least, the plain kernels
